"""Move and merge modules by a spec, and rewrite imports everywhere.

spec.py defines LAYOUT: list of (new dotted module, docstring or None, [old dotted modules]), RENAMES: {old module: {name: new}}.
"""
import ast, io, re, subprocess, sys, tokenize, importlib.util
from collections import defaultdict
from pathlib import Path

ROOT = Path(sys.argv[1]); SPEC = sys.argv[2]
spec = importlib.util.spec_from_file_location("spec", SPEC); s = importlib.util.module_from_spec(spec); spec.loader.exec_module(s)
SRC = ROOT / "src"

def path_of(module):
    p = SRC / Path(*module.split("."))
    return p.with_suffix(".py")

def rename_names(text, table):
    """Rename NAME tokens that are not attributes."""
    out, prev = [], None
    lines = text.splitlines(keepends=True)
    toks = list(tokenize.generate_tokens(io.StringIO(text).readline))
    edits = []; depth = 0
    for i, t in enumerate(toks):
        if t.type == tokenize.OP and t.string in "([{": depth += 1
        if t.type == tokenize.OP and t.string in ")]}": depth -= 1
        if t.type == tokenize.NAME and t.string in table:
            before = toks[i-1].string if i else ""
            if before == ".": continue
            nxt = toks[i+1].string if i+1 < len(toks) else ""
            if depth and nxt == "=" and before in ("(", ","):
                continue  # keyword argument
            edits.append((t.start, t.end, table[t.string]))
    for (r, c), (_, e), new in sorted(edits, reverse=True):
        line = lines[r-1]; lines[r-1] = line[:c] + new + line[e:]
    return "".join(lines)

moved = {}
for new, doc, olds in s.LAYOUT:
    for o in olds:
        assert o not in moved, o
        moved[o] = new
RENAMES = getattr(s, "RENAMES", {})
public_renames = defaultdict(dict)  # old module -> {name: new}

def take_all(body):
    """(names of __all__, the rest)."""
    tree = ast.parse(body); lines = body.splitlines(keepends=True)
    for node in tree.body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            names = ast.literal_eval(node.value)
            del lines[node.lineno-1:node.end_lineno]
            return names, "".join(lines).strip("\n") + "\n"
    return [], body

def statements(text):
    """name -> source of the statement that defines it."""
    lines = text.splitlines(keepends=True); found = {}
    for node in ast.parse(text).body:
        names = []
        if isinstance(node, ast.Assign): names = [t.id for t in node.targets if isinstance(t, ast.Name)]
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)): names = [node.name]
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name): names = [node.target.id]
        for n in names: found[n] = ("".join(lines[node.lineno-1:node.end_lineno]), node.lineno, node.end_lineno)
    return found

def split_module(text):
    """(docstring, import source segments, body)."""
    tree = ast.parse(text); lines = text.splitlines(keepends=True)
    doc = ast.get_docstring(tree, clean=False)
    imports, spans = [], []
    for k, node in enumerate(tree.body):
        if k == 0 and doc is not None:
            spans.append((node.lineno, node.end_lineno)); continue
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            seg = "".join(lines[node.lineno-1:node.end_lineno])
            imports.append(seg); spans.append((node.lineno, node.end_lineno))
    drop = {i for a, b in spans for i in range(a, b+1)}
    body = "".join(l for i, l in enumerate(lines, 1) if i not in drop)
    return doc, imports, body.strip("\n") + "\n"

def defined(text):
    names = set()
    for node in ast.parse(text).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)): names.add(node.name)
        elif isinstance(node, ast.Assign):
            for t in node.targets:
                for n in ast.walk(t):
                    if isinstance(n, ast.Name): names.add(n.id)
        elif isinstance(node, (ast.AnnAssign,)) and isinstance(node.target, ast.Name): names.add(node.target.id)
    return names

import time
report = []
texts = {}
for new, doc, olds in s.LAYOUT:
    there = [o for o in olds if path_of(o).exists()]
    if missing := [o for o in olds if o not in there]: report.append(f"missing {missing}")
    if not there: continue
    for o in there:
        t = path_of(o).read_text()
        if o in RENAMES:
            t = rename_names(t, RENAMES[o])
            public_renames[o] = RENAMES[o]
        texts[o] = t
    seen = {}
    if len(there) > 1:
        for o in there:
            for name in sorted(defined(texts[o]) - {"__all__"}):
                if name in seen:
                    a, b = texts[seen[name]], texts[o]
                    mine, theirs = statements(b).get(name), statements(a).get(name)
                    if mine and theirs and mine[0] == theirs[0]:
                        ls = b.splitlines(keepends=True); del ls[mine[1]-1:mine[2]]
                        texts[o] = "".join(ls); continue
                    suffix = o.split(".")[-1]
                    fresh = f"{name}_{suffix.upper() if name.isupper() else suffix}"
                    report.append(f"collision {name}: {seen[name]} and {o} -> {fresh}")
                    texts[o] = rename_names(texts[o], {name: fresh}); public_renames[o] = {**public_renames[o], name: fresh}
                else: seen[name] = o

def top_imports(text):
    for node in ast.parse(text).body:
        if isinstance(node, ast.ImportFrom): yield node
def replace_lines(text, edits):
    lines = text.splitlines(keepends=True)
    for a, b, out in sorted(edits, reverse=True): lines[a-1:b] = out
    return "".join(lines)
def line_import(node, keep):
    pad = " " * node.col_offset
    return [f"{pad}from {node.module} import " + ", ".join(a.name + (f" as {a.asname}" if a.asname else "") for a in keep) + "\n"] if keep else []
for new, doc, olds in s.LAYOUT:
    there = [o for o in olds if o in texts]
    if len(there) < 2: continue
    inside = set(there)
    bound = {}
    for o in there:
        for n in defined(texts[o]): bound[n] = (o, n)
    for o in there:
        text = texts[o]
        # sibling modules: drop the import, and the qualification
        edits, siblings, table = [], set(), {}
        for node in ast.walk(ast.parse(text)):
            if not isinstance(node, ast.ImportFrom) or not node.module: continue
            gone = [a for a in node.names if f"{node.module}.{a.name}" in inside]
            if gone:
                keep = [a for a in node.names if a not in gone]
                edits.append((node.lineno, node.end_lineno, line_import(node, keep) or ([" " * node.col_offset + "pass\n"] if node.col_offset else [])))
                for a in gone: siblings.add((a.asname or a.name, f"{node.module}.{a.name}"))
            elif node.module in inside:
                for a in node.names:
                    real = public_renames.get(node.module, {}).get(a.name, a.name)
                    if (a.asname or a.name) != real: table[a.asname or a.name] = real
                if node.col_offset: edits.append((node.lineno, node.end_lineno, [" " * node.col_offset + "pass\n"]))
        text = replace_lines(text, edits)
        if table: text = rename_names(text, table)
        for name, full in siblings:
            renamed = public_renames.get(full, {})
            text = re.sub(rf"(?<![\w.\"']){name}\.(\w+)", lambda m: renamed.get(m[1], m[1]), text)
        # names that are imported here and bound otherwise in the group
        edits, table = [], {}
        for node in top_imports(text):
            if node.module in inside or node.module == "__future__": continue
            changed = False
            for a in node.names:
                n = a.asname or a.name; origin = (node.module, a.name)
                if n in bound and bound[n] != origin:
                    fresh = f"{n}_{node.module.split('.')[-1]}"
                    report.append(f"import conflict {n} in {o}: {bound[n]} and {origin} -> {fresh}")
                    table[n] = fresh; changed = True
                else: bound.setdefault(n, origin)
            if changed:
                names = ", ".join(a.name + (f" as {table.get(a.asname or a.name, a.asname or a.name)}" if table.get(a.asname or a.name, a.asname or a.name) != a.name else "") for a in node.names)
                edits.append((node.lineno, node.end_lineno, [f"from {node.module} import {names}\n"]))
        if edits:
            marks = {a: out for a, b, out in edits}
            text = replace_lines(text, [(a, b, [f"#IMPORT{a}\n"]) for a, b, out in edits])
            text = rename_names(text, table)
            for a, out in marks.items(): text = text.replace(f"#IMPORT{a}\n", "".join(out))
        texts[o] = text

for new, doc, olds in s.LAYOUT:
    there = [o for o in olds if o in texts]
    if not there: continue
    target = path_of(new); target.parent.mkdir(parents=True, exist_ok=True)
    pkg = target.parent
    while pkg != SRC and not (pkg / "__init__.py").exists():
        (pkg / "__init__.py").write_text(f'"""{s.PACKAGES.get("/".join(pkg.relative_to(SRC).parts), "Part of naively.")}"""\n'); pkg = pkg.parent
    first = path_of(there[0])
    if first != target:
        subprocess.run(["git", "mv", "-f", str(first), str(target)], cwd=ROOT, check=True)
    if len(there) == 1:
        target.write_text(texts[there[0]]); continue
    imports, bodies, exported = [], [], []
    olddoc = None
    for o in there:
        d, imp, body = split_module(texts[o])
        olddoc = olddoc or d
        inside = set(there)
        keep = []
        for seg in imp:
            node = ast.parse(seg).body[0]
            if isinstance(node, ast.ImportFrom) and node.module in inside: continue
            if isinstance(node, ast.ImportFrom) and node.module == "__future__": continue
            keep.append(seg)
        imports += keep
        names_all, body = take_all(body); exported += names_all
        title = (d or o).strip().split("\n")[0].rstrip(".")
        bodies.append((o, title, body))
    seen_imp, uniq = set(), []
    for seg in imports:
        if seg not in seen_imp: seen_imp.add(seg); uniq.append(seg)
    text = f'"""{doc or olddoc}"""\n\nfrom __future__ import annotations\n\n' + "".join(uniq) + "\n\n"
    if exported: text += f"__all__ = {sorted(exported)!r}\n\n"
    for k, (o, title, body) in enumerate(bodies):
        if not body.strip(): continue
        if k and bodies[0][2].strip():
            head = s.TITLES.get(o, o.split(".")[-1].replace("_", " "))
            text += f"\n\n# ---- {head} {'-' * max(3, 92 - len(head))}\n\n\n"
        text += body
    target.write_text(text)
    for o in there[1:]:
        if path_of(o) != target:
            subprocess.run(["git", "rm", "-q", "-f", str(path_of(o))], cwd=ROOT, check=True)
    subprocess.run(["git", "add", str(target)], cwd=ROOT, check=True)

def stored(tree):
    names = set()
    for n in ast.walk(tree):
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store): names.add(n.id)
        elif isinstance(n, ast.arg): names.add(n.arg)
    return names

# ---- imports everywhere
files = [Path(f) for f in subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True).stdout.split("\n") if f.endswith((".py", ".md", ".yml", ".toml", ".sh", ".cfg")) or f in (".ci/run", ".ci/oldest")]
dotted = sorted(moved, key=len, reverse=True)
pattern = re.compile(r"(?<![\w.])(" + "|".join(re.escape(m) for m in dotted) + r")(?!\w)")

def rewrite_from_package(text, name):
    """`from naively.pkg import module` where the module moved."""
    tree = ast.parse(text); lines = text.splitlines(keepends=True)
    edits = []; renames = {}
    taken = stored(tree) | defined(text) | {a.asname or a.name for n in ast.walk(tree) if isinstance(n, (ast.ImportFrom, ast.Import)) for a in n.names}
    for node in ast.walk(tree):
        if not (isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "naively" and node.level == 0): continue
        stay, gone = [], []
        for alias in node.names:
            full = f"{node.module}.{alias.name}"
            if full in moved: gone.append((alias, moved[full]))
            else: stay.append(alias)
        if not gone: continue
        indent = " " * node.col_offset
        out = []
        tail = lines[node.end_lineno-1].rstrip("\n")
        comment = "  " + tail[tail.index("#"):] if "#" in tail else ""
        if stay: out.append(f"{indent}from {node.module} import " + ", ".join(a.name + (f" as {a.asname}" if a.asname else "") for a in stay) + "\n")
        for alias, new in gone:
            parent, _, last = new.rpartition(".")
            used = alias.asname or alias.name
            old = f"{node.module}.{alias.name}"
            if alias.asname: out.append(f"{indent}from {parent} import {last} as {alias.asname}\n")
            else:
                if last != alias.name and last in taken:
                    out.append(f"{indent}from {parent} import {last} as {alias.name}\n")
                    report.append(f"alias in {name}: {last} as {alias.name}"); used_last = alias.name
                else:
                    out.append(f"{indent}from {parent} import {last}\n"); used_last = last
                    if last != alias.name: renames[alias.name] = last
            for n, fresh in public_renames.get(old, {}).items():
                attr[(alias.asname or used_last, n)] = fresh
        if comment: out = [l.rstrip("\n") + comment + "\n" for l in out]
        edits.append((node.lineno, node.end_lineno, out))
    return edits, renames

for f in files:
    p = ROOT / f
    if not p.exists() or "docs/assets" in str(f): continue
    text = original = p.read_text()
    if f.suffix == ".py" and "naively" in text:
        attr = {}
        edits, renames = rewrite_from_package(text, f)
        lines = text.splitlines(keepends=True)
        for a, b, out in sorted(edits, reverse=True): lines[a-1:b] = out
        text = "".join(lines)
        if renames:
            clash = stored(ast.parse(text)) & {*renames}
            if clash: report.append(f"shadowing in {f}: {clash} of {renames}")
            text = rename_names(text, renames)
        for (used, n), fresh in attr.items():
            text = re.sub(rf"(?<![\w.]){used}\.{n}\b", f"{used}.{fresh}", text)
        # names renamed in the modules that they come from
        tree = ast.parse(text); table = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module in public_renames:
                for alias in node.names:
                    fresh = public_renames[node.module].get(alias.name)
                    if fresh and not alias.asname: table[alias.name] = fresh
        if table: text = rename_names(text, table)
    text = pattern.sub(lambda m: moved[m[1]], text)
    if text != original: p.write_text(text)
print("\n".join(report))
