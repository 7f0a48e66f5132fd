import sys, importlib.util, ast
sys.path.insert(0,'tests')
from pathlib import Path
ROOT=Path(sys.argv[1])/'src/naively'
spec=importlib.util.spec_from_file_location('spec',sys.argv[2]); S=importlib.util.module_from_spec(spec); spec.loader.exec_module(S)
def sources():
    f={}
    for p in sorted(ROOT.rglob('*.py')):
        parts=p.relative_to(ROOT.parent).with_suffix('').parts
        f['.'.join(parts[:-1] if parts[-1]=='__init__' else parts)]=p
    return f
def imported(path,names):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node,ast.Import):
            yield from (o.name for o in node.names if o.name in names)
        elif isinstance(node,ast.ImportFrom):
            for o in node.names:
                inner=f'{node.module}.{o.name}'
                if inner in names or node.module in names: yield inner if inner in names else node.module
names=sources(); graph={n:set(imported(p,names)) for n,p in names.items()}
group={n:n for n in graph}
for new,_,olds in S.LAYOUT:
    for o in olds: group[o]=new
G={}
for n,os in graph.items():
    for o in os:
        if group[n]!=group[o]: G.setdefault(group[n],{}).setdefault(group[o],[]).append((n,o))
# tarjan
sys.setrecursionlimit(10000)
idx={};low={};st=[];on=set();out=[];c=[0]
def go(v):
    idx[v]=low[v]=c[0];c[0]+=1;st.append(v);on.add(v)
    for w in G.get(v,{}):
        if w not in idx: go(w);low[v]=min(low[v],low[w])
        elif w in on: low[v]=min(low[v],idx[w])
    if low[v]==idx[v]:
        comp=[]
        while True:
            w=st.pop();on.discard(w);comp.append(w)
            if w==v:break
        if len(comp)>1: out.append(comp)
for v in set(group.values()):
    if v not in idx: go(v)
merged={new for new,_,olds in S.LAYOUT if len(olds)>1}
for comp in out:
    print('SCC',len(comp)); cs=set(comp)
    for v in sorted(comp):
        if v in merged:
            print('  merged',v)
            for w,e in G[v].items():
                if w in cs: print('     ->',w, sorted({f'{a.split("naively.")[1]}>{b.split("naively.")[1]}' for a,b in e}))
            for u in cs:
                if v in G.get(u,{}): print('     <-',u, sorted({f'{a.split("naively.")[1]}>{b.split("naively.")[1]}' for a,b in G[u][v]}))
