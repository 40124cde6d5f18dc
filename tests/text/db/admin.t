# Listing, pruning, and what is wrong on the command line.
--- a.jsonl
{"name": "sum", "program": "program f {\n    input t0: f32[8]\n    output t1: f32[]\n\n    s0: for i0 in 0:8\n        t1[] +=! t0[i0]\n}\n", "target": "x86-64", "cpu": "c", "isa": "avx2", "threads": 1, "schedule": "s0: i0:v\n", "seconds": 2e-08, "date": "2020-01-01T00:00:00Z"}
{"name": "sum", "program": "program f {\n    input t0: f32[8]\n    output t1: f32[]\n\n    s0: for i0 in 0:8\n        t1[] +=! t0[i0]\n}\n", "target": "x86-64", "cpu": "c", "isa": "avx2", "threads": 1, "schedule": "s0: i0/4 i0\n", "seconds": 3e-08, "date": "2026-01-01T00:00:00Z", "pinned": true}
{"name": "sum", "program": "program f {\n    input t0: f32[8]\n    output t1: f32[]\n\n    s0: for i0 in 0:8\n        t1[] +=! t0[i0]\n}\n", "target": "x86-64", "cpu": "c", "isa": "avx2", "threads": 1, "schedule": "s0: i0/2 i0\n", "seconds": 1e-08, "date": "2020-01-02T00:00:00Z"}
{"name": "sum", "program": "program f {\n    input t0: f32[8]\n    output t1: f32[]\n\n    s0: for i0 in 0:8\n        t1[] +=! t0[i0]\n}\n", "target": "x86-64", "cpu": "c", "isa": "avx2", "threads": 1, "schedule": "s0: i0/2 i0\n", "seconds": 4e-08, "date": "2020-01-02T00:00:00Z", "state": "slow"}
$ for what in list show export verify prune\ --bad; do loopwright db $what --db t.db; done
--- stderr
error: there is no database 't.db'
error: there is no database 't.db'
error: there is no database 't.db'
error: there is no database 't.db'
error: there is no database 't.db'
--- exit 1
$ XDG_DATA_HOME=%/home LW_DB= loopwright db list | grep -o 'nothing is tuned'
nothing is tuned
$ XDG_DATA_HOME=%/home LW_DB= loopwright db export && XDG_DATA_HOME=%/home LW_DB= loopwright db verify
0 apply, 0 do not
$ loopwright db import a.jsonl --db t.db
4 read, 4 kept, 0 refused
$ loopwright db list --db t.db
kernel  function  sizes  isa     threads       time    gap schedules  trials  date
     1  sum       8      avx2          1    0.03 us      -         3       1  2026-01-01 pinned
$ loopwright db prune --keep 1 --db t.db
1 removed
$ loopwright db export --all --db t.db | grep -o '"schedule": "[^"]*"\|"state": "[a-z]*"'
"schedule": "s0: i0/4 i0\n"
"schedule": "s0: i0/2 i0\n"
"schedule": "s0: i0/2 i0\n"
"state": "slow"
$ loopwright db prune --all --days 1000 --db t.db
2 removed
$ loopwright db list --db t.db
kernel  function  sizes  isa     threads       time    gap schedules  trials  date
     1  sum       8      avx2          1    0.03 us      -         1       0  2026-01-01 pinned
$ loopwright db prune --db t.db
--- stderr
loopwright db: what should go? --keep N, --days N, --all, --bad
usage: loopwright db WHAT [FILE...] [options]; --help explains them
--- exit 2
$ loopwright db lost --db t.db
--- stderr
loopwright db: no db lost; did you mean db list?
usage: loopwright db WHAT [FILE...] [options]; --help explains them
--- exit 2
$ loopwright db --db t.db
--- stderr
loopwright db: what with it? list, show, export, import, merge, prune, verify or put
usage: loopwright db WHAT [FILE...] [options]; --help explains them
--- exit 2
$ loopwright db show 9 --db t.db
--- stderr
error: there is no kernel 9 in 't.db'
--- exit 1
$ loopwright db show mm --db t.db
--- stderr
loopwright db: db show takes the number of a kernel, not 'mm'
usage: loopwright db WHAT [FILE...] [options]; --help explains them
--- exit 2
$ loopwright db list --keep 3 --db t.db
--- stderr
loopwright db: --keep has no effect with db list
usage: loopwright db WHAT [FILE...] [options]; --help explains them
--- exit 2
$ loopwright db list
--- stderr
error: no tuning database is in use
note: name a file with --db FILE or LW_DB
--- exit 1
$ loopwright db merge nowhere.db --db t.db
--- stderr
error: tuning database: 'nowhere.db' does not exist
--- exit 1
