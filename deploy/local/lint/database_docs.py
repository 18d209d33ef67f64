"""Compares docs/reference/database.md with the migrations: tables, columns with their types, indexes, functions.

    database_docs.py [FOLDER]          FOLDER: another copy of the tree
    database_docs.py [FOLDER] --list   prints what the migrations make
"""
import re
import sys
from pathlib import Path

SERVICES = ["identity", "tokens", "devices"]
# Where the type of a column ends and what holds for it begins.
CONSTRAINT = re.compile(r"\s+(NOT NULL|NULL|PRIMARY KEY|UNIQUE|DEFAULT|CHECK|REFERENCES|GENERATED|CONSTRAINT)\b")
TABLE_CONSTRAINT = re.compile(r"(PRIMARY KEY|UNIQUE|CHECK|CONSTRAINT|FOREIGN KEY|EXCLUDE)\b")


class Schema:
    def __init__(self):
        self.tables = {}
        self.indexes = {}
        self.functions = set()

    def apply(self, statement, where):
        words = r"(?:IF (?:NOT )?EXISTS )?(\w+)"
        create = re.sub(r" WITH \([^)]*\)$", "", statement)
        if match := re.match(rf"CREATE (?:UNLOGGED )?TABLE {words} \((.*)\)$", create):
            self.create(match[1], match[2])
        elif match := re.match(rf"CREATE (?:UNIQUE )?INDEX (?:CONCURRENTLY )?{words} ON (\w+)", statement):
            self.indexes[match[1]] = match[2]
        elif match := re.match(rf"ALTER TABLE {words} (.*)$", statement):
            for change in split(match[2]):
                self.alter(match[1], change, where)
        elif match := re.match(rf"DROP TABLE {words}", statement):
            del self.tables[match[1]]
            self.indexes = {name: table for name, table in self.indexes.items() if table != match[1]}
        elif match := re.match(rf"DROP INDEX {words}", statement):
            del self.indexes[match[1]]
        elif match := re.match(r"CREATE (?:OR REPLACE )?FUNCTION (\w+)", statement):
            self.functions.add(match[1])
        elif not re.match(r"(INSERT INTO|UPDATE|DELETE FROM|LOCK TABLE|SELECT|REVOKE|CREATE TRIGGER) ", statement):
            sys.exit(f"error: {where}: database_docs.py does not know what this does: {statement[:80]}")

    def create(self, table, body):
        columns = {}
        for item in split(body):
            if match := re.match(r"(PRIMARY KEY|UNIQUE) \(([^)]*)\)", item):
                names = re.split(r",\s*", match[2])
                if match[1] == "PRIMARY KEY":
                    columns.update({name: columns[name].rstrip("?") for name in names})
                else:
                    self.indexes[f"{table}_{'_'.join(names)}_key"] = table
            elif not TABLE_CONSTRAINT.match(item):
                self.column(table, columns, item)
        self.tables[table] = columns

    def column(self, table, columns, item):
        name, rest = item.split(" ", 1)
        kind = CONSTRAINT.split(" " + rest, maxsplit=1)[0].strip()
        required = re.search(r"\b(NOT NULL|PRIMARY KEY|GENERATED ALWAYS)\b", rest)
        columns[name] = kind if required else kind + "?"
        if re.search(r"\bUNIQUE\b", rest):
            self.indexes[f"{table}_{name}_key"] = table

    def alter(self, table, change, where):
        if match := re.match(r"ADD COLUMN (?:IF NOT EXISTS )?(.*)$", change):
            self.column(table, self.tables[table], match[1])
        elif match := re.match(r"DROP COLUMN (?:IF EXISTS )?(\w+)", change):
            del self.tables[table][match[1]]
        elif match := re.match(r"ALTER COLUMN (\w+) (SET|DROP) NOT NULL", change):
            kind = self.tables[table][match[1]].rstrip("?")
            self.tables[table][match[1]] = kind + ("?" if match[2] == "DROP" else "")
        elif not re.match(r"(ADD|DROP) CONSTRAINT \w+_check\b|ALTER COLUMN \w+ (SET|DROP) DEFAULT\b", change):
            sys.exit(f"error: {where}: database_docs.py does not know what this does to {table}: {change[:80]}")


def split(text):
    """At commas that stand in no parentheses."""
    parts, depth, start = [], 0, 0
    for place, sign in enumerate(text):
        depth += {"(": 1, ")": -1}.get(sign, 0)
        if sign == "," and depth == 0:
            parts.append(text[start:place].strip())
            start = place + 1
    return parts + [text[start:].strip()]


def statements(script):
    """Without comments and line breaks; a function's body, between $$ and $$, is one piece."""
    script = re.sub(r"--[^\n]*", "", script)
    pieces = re.split(r"(\$\$.*?\$\$)", script, flags=re.S)
    found = [""]
    for number, piece in enumerate(pieces):
        if number % 2:
            found[-1] += " $$ "
            continue
        first, *others = piece.split(";")
        found[-1] += first
        found += others
    return [" ".join(each.split()) for each in found if each.strip()]


def schemas(root):
    found = {}
    for service in SERVICES:
        schema = found[service] = Schema()
        for path in sorted((root / f"Services/{service}/Sources/Migrations").glob("*.up.sql")):
            indexes = path.with_name(path.name.replace(".up.", ".indexes."))
            for script in [indexes, path] if indexes.exists() else [path]:
                for statement in statements(script.read_text()):
                    schema.apply(statement, script.relative_to(root))
    schema = found["every database"] = Schema()
    migrator = (root / "Shared/Postgres/Migrations/PostgresMigrator.swift").read_text()
    for match in re.findall(r"CREATE TABLE IF NOT EXISTS .*?\n\s*\)\n", migrator, re.S):
        schema.apply(" ".join(match.split()), "PostgresMigrator.swift")
    return found


def page(path):
    """Below `## SERVICE` and `### TABLE`: a list of columns (`NAME TYPE`), a paragraph of indexes; and functions."""
    found, schema, table = {}, None, None
    for block in path.read_text().split("\n\n"):
        if match := re.match(r"## `?([\w ]+?)`?$", block):
            schema = found.setdefault(match[1].lower(), Schema())
            table = None
        elif match := re.match(r"### `(\w+)(\(\))?`$", block):
            table = None if match[2] else match[1]
            if match[2]:
                schema.functions.add(match[1])
            else:
                schema.tables[table] = {}
        elif table and block.startswith("- "):
            for line in re.findall(r"(?m)^- ([^:\n]*)", block):
                schema.tables[table].update(re.findall(r"`(\w+) ([^`]+)`", line))
        elif table and block.startswith("Indexes:"):
            schema.indexes.update((name, table) for name in re.findall(rf"`({table}_\w+)`", block))
    return found


def compare(root):
    flaws = []
    real, told = schemas(root), page(root / "docs/reference/database.md")

    def differ(what, in_schema, on_page):
        in_schema, on_page = set(in_schema), set(on_page)
        flaws.extend(f"docs/reference/database.md has no {what} {each}" for each in sorted(in_schema - on_page))
        flaws.extend(
            f"docs/reference/database.md names the {what} {each}, which no migration makes"
            for each in sorted(on_page - in_schema))

    for service, schema in real.items():
        other = told.get(service, Schema())
        differ("table", (f"{service}.{each}" for each in schema.tables), [f"{service}.{each}" for each in other.tables])
        for table in schema.tables.keys() & other.tables.keys():
            columns, others = schema.tables[table], other.tables[table]
            differ("column", (f"{service}.{table}.{each}" for each in columns), [
                f"{service}.{table}.{each}" for each in others])
            for name in columns.keys() & others.keys():
                if columns[name] != others[name]:
                    flaws.append(
                        f"docs/reference/database.md says that {service}.{table}.{name} is {others[name]}: it is {columns[name]}")
        differ("index", (f"{service}.{table}: {each}" for each, table in schema.indexes.items()), [
            f"{service}.{table}: {each}" for each, table in other.indexes.items()])
        differ("function", (f"{service}.{each}" for each in schema.functions), [
            f"{service}.{each}" for each in other.functions])
    return flaws


if __name__ == "__main__":
    folders = [each for each in sys.argv[1:] if each != "--list"]
    tree = Path(folders[0]) if folders else Path(__file__).resolve().parents[3]
    if "--list" in sys.argv:
        for service, schema in schemas(tree).items():
            for table, columns in schema.tables.items():
                print(f"{service}.{table}")
                for name, kind in columns.items():
                    print(f"    {name} {kind}")
                print("   ", *sorted(each for each, owner in schema.indexes.items() if owner == table))
    else:
        findings = compare(tree)
        print("\n".join(findings), end="\n" if findings else "", file=sys.stderr)
        sys.exit(1 if findings else 0)
