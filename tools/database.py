"""database.py [--check] [ENV]   writes the tables of docs/reference/database.md from the databases that the file ENV names
(.local/env: those of `make up`); with --check it fails where they are out of date. What is above the marker stays."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MARKER = "<!-- tools/database.py writes what follows. -->\n"
SERVICES = ["identity", "tokens", "devices"]
# In the order of the migrations. The migrator's own tables are described above the marker.
SCHEMA = """
    SELECT coalesce(json_agg(json_build_object(
        'name', relname, 'is_view', relkind = 'v', 'meaning', obj_description(class.oid, 'pg_class'),
        'columns', ARRAY(
            SELECT json_build_object(
                'name', attname, 'type', format_type(atttypid, atttypmod), 'is_null', NOT attnotnull,
                'meaning', col_description(class.oid, attnum))
            FROM pg_attribute WHERE attrelid = class.oid AND attnum > 0 AND NOT attisdropped ORDER BY attnum)
    ) ORDER BY class.oid), '[]')
    FROM pg_class AS class
    WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'v') AND NOT relispartition
        AND relname NOT LIKE 'schema\\_%'
"""


def column_text(column):
    kind = column["type"].replace("timestamp with time zone", "timestamptz")
    nullable = " or NULL" if column["is_null"] else ""
    return f"| `{column['name']}` | {kind}{nullable} | {(column['meaning'] or '').replace('|', chr(92) + '|')} |\n"


def table_text(service, table):
    text = f"\n### {service}: `{table['name']}`\n"
    if table["meaning"]:
        text += f"\n{'View: ' if table['is_view'] else ''}{table['meaning']}\n"
    if not table["is_view"]:
        text += "\n| column | type | meaning |\n| --- | --- | --- |\n" + "".join(map(column_text, table["columns"]))
    return text


def section(service, url):
    query = subprocess.run(
        ["psql", "--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--dbname", url, "--command", SCHEMA],
        check=True,
        capture_output=True,
        text=True,
    )
    tables = json.loads(query.stdout)
    return f"\n## {service}\n" + "".join(table_text(service, table) for table in tables)


arguments = [argument for argument in sys.argv[1:] if argument != "--check"]
environment = Path(arguments[0]) if arguments else ROOT / ".local/env"
settings = dict(line.split("=", 1) for line in environment.read_text().splitlines())
page = ROOT / "docs/reference/database.md"
old = page.read_text()
tables = "".join(section(name, settings[f"{name.upper()}_DATABASE_URL"]) for name in SERVICES)
new = old.split(MARKER)[0] + MARKER + tables
if new != old and "--check" in sys.argv:
    sys.exit(f"docs/reference/database.md is out of date: python3 tools/database.py {environment}")
page.write_text(new)
