# Lines that no tuning writes are refused by number, the others kept; rows that cannot be read count as
# what does not apply.
--- mixed.jsonl
{"name": "sum", "program": "program f {\n    input t0: f32[8]\n    output t1: f32[]\n\n    s0: for i0 in 0:8\n        t1[] +=! t0[i0]\n}\n", "strides": "", "target": "x86-64", "cpu": "a", "isa": "avx2", "threads": 1, "schedule": "s0: i0:v\n", "seconds": 1e-08, "date": "2026-01-01T00:00:00Z"}
{"name": "sum", "program": "program f {\n    input t0: f32[8]\n    output t1: f32[]\n\n    s0: for i0 in 0:8\n        t1[] +=! t0[i0]\n}\n", "strides": "", "target": "x86-64", "cpu": "a", "isa": "avx2", "threads": -5, "schedule": "s0: i0:v\n", "seconds": 1e-08, "date": "2026-01-01T00:00:00Z"}

{"name": "sum", "program": "program f {\n    input t0: f32[8]\n    output t1: f32[]\n\n    s0: for i0 in 0:8\n        t1[] +=! t0[i0]\n}\n", "strides": "", "target": "x86-64", "cpu": "a", "isa": "neon", "threads": 1, "schedule": "s0: i0:v\n", "seconds": 1e-08, "date": "2026-01-01T00:00:00Z"}
{"name": "sum", "program": "program f {\n    input t0: f32[8]\n    output t1: f32[]\n\n    s0: for i0 in 0:8\n        t1[] +=! t0[i0]\n}\n", "strides": "foo", "target": "x86-64", "cpu": "a", "isa": "avx2", "threads": 1, "schedule": "s0: i0:v\n", "seconds": 1e-08, "date": "2026-01-01T00:00:00Z"}
{"name": "sum", "program": "program f {\n    input t0: f32[8]\n    output t1: f32[]\n\n    s0: for i0 in 0:8\n        t1[] +=! t0[i0]\n}\n", "strides": "", "target": "x86-64", "cpu": "a", "isa": "avx2", "threads": 1, "schedule": "s0: i0:v\n", "seconds": 0, "date": "2026-01-01T00:00:00Z"}
{"name": "sum", "program": "program f {\n    input t0: f32[8]\n    output t1: f32[]\n\n    s0: for i0 in 0:8\n        t1[] +=! t0[i0]\n}\n", "strides": "", "target": "x86-64, cold", "cpu": "another", "isa": "avx2", "threads": 1, "schedule": "s0: i0:v\n", "seconds": 1e-08, "date": "2026-01-01T00:00:00Z"}
$ loopwright db import mixed.jsonl --db t.db
6 read, 2 kept, 4 refused
--- stderr
warning: 'mixed.jsonl': line 2 is refused: its threads are not 1 to 1024
warning: 'mixed.jsonl': line 4 is refused: 'x86-64' has no instruction set 'neon'
warning: 'mixed.jsonl': line 5 is refused: 'foo' are no strides of its arguments
warning: 'mixed.jsonl': line 6 is refused: its time is not above 0
--- exit 1
$ loopwright db list --db t.db
kernel  function  sizes  cpu      isa     threads       time    gap schedules  trials  date
     1  sum       8      a        avx2          1    0.01 us      -         1       0  2026-01-01
     2  sum       8      another  avx2          1    0.01 us      -         1       0  2026-01-01 cold
$ python3 -c "import sqlite3; c = sqlite3.connect('t.db'); c.execute('update best set schedule = x\'00ff\', seconds = \'abc\' where kernel = 1'); c.commit()"
$ loopwright db verify --db t.db
kernel 1: a row cannot be read
1 apply, 1 do not
--- exit 1
$ loopwright db list --db t.db
kernel  function  sizes  isa     threads       time    gap schedules  trials  date
     2  sum       8      avx2          1    0.01 us      -         1       0  2026-01-01 cold
$ loopwright db export --db t.db | wc -l
1
$ loopwright db merge t.db --db u.db
2 read, 1 kept, 1 refused
--- stderr
warning: 't.db': entry 1 is refused: a row cannot be read
--- exit 1
$ loopwright db prune --bad --db t.db
1 removed
$ loopwright db verify --db t.db
1 apply, 0 do not
