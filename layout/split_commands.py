"""Split modules of commands into cli/commands, one file a command."""
import ast, subprocess, sys
from pathlib import Path
ROOT=Path(sys.argv[1]); CLI=ROOT/"src/naively/cli"; OUT=CLI/"commands"; OUT.mkdir(exist_ok=True)
(OUT/"__init__.py").write_text('"""The commands, one file each: what they are called and take. Heavy imports wait until they run."""\n')
for name in ("learn","ask","study"):
    p=CLI/f"{name}.py"
    if not p.exists(): print("no",p); continue
    text=p.read_text(); lines=text.splitlines(keepends=True); tree=ast.parse(text)
    imports="".join("".join(lines[n.lineno-1:n.end_lineno]) for n in tree.body if isinstance(n,(ast.Import,ast.ImportFrom)) and n.module!="__future__")
    rest=[n for n in tree.body if not isinstance(n,(ast.Import,ast.ImportFrom)) and not (isinstance(n,ast.Expr) and isinstance(n.value,ast.Constant))]
    for n in rest:
        if not isinstance(n,ast.FunctionDef) or not n.decorator_list: print("left over in",name,getattr(n,"name",n)); continue
        start=n.decorator_list[0].lineno
        body="".join(lines[start-1:n.end_lineno])
        (OUT/f"{n.name}.py").write_text(f'"""`naively {n.name}`: what it takes."""\n\nfrom __future__ import annotations\n\n{imports}\n\n{body}')
    subprocess.run(["git","rm","-qf",str(p)],cwd=ROOT,check=True)
for old,new in (("export","export"),("serve","serve"),("verify","verify"),("drift","drift"),("page","report")):
    p=CLI/f"{old}.py"
    if p.exists(): subprocess.run(["git","mv",str(p),str(OUT/f"{new}.py")],cwd=ROOT,check=True)
names=sorted(q.stem for q in OUT.glob("*.py") if q.stem!="__init__")
print(names)
m=CLI/"main.py"; s=m.read_text()
i=s.index("from naively.cli import (  # which add"); j=s.index("from naively.cli.app import")
s=s[:i]+"from naively.cli import commands\n"+s[j:]
i=s.index("COMMANDS = ["); j=s.index("\n",i)
s=s[:i]+"for _command in iter_modules(commands.__path__):  # each adds itself to the application\n    import_module(f\"{commands.__name__}.{_command.name}\")"+s[j:]
s=s.replace("from pathlib import Path\nfrom typing","from pathlib import Path\nfrom pkgutil import iter_modules\nfrom typing")
s=s.replace("chosen.__module__ in COMMANDS","chosen.__module__.startswith(commands.__name__)")
m.write_text(s)
subprocess.run(["git","add","-A",str(CLI)],cwd=ROOT,check=True)
