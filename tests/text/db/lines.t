# JSON lines are the portable form. What is imported is checked; what does not apply is refused.
--- tuned.jsonl
{"format": 1, "name": "sum", "program": "program f {\n    input t0: f32[8]\n    output t1: f32[]\n\n    s0: for i0 in 0:8\n        t1[] +=! t0[i0]\n}\n", "strides": "", "target": "x86-64", "cpu": "a processor", "isa": "avx2", "threads": 1, "schedule": "s0: i0:v\n", "seconds": 1.5e-08, "low": 1.4e-08, "high": 1.6e-08, "date": "2026-11-15T09:30:00Z", "samples": 11, "bound": 1e-08, "chosen": 1.8e-08, "version": "0.1.0", "verified": "bit for bit", "origin": "tuned", "pinned": false, "gap": 0.5}
--- bad.jsonl
not an object
{"program": "program f { }", "target": "x86-64", "cpu": "c", "isa": "avx2", "schedule": ""}
{"program": "program f {\n    input t0: f32[8]\n    output t1: f32[]\n\n    s0: for i0 in 0:8\n        t1[] +=! t0[i0]\n}\n", "target": "x86-64", "cpu": "c", "isa": "avx2", "schedule": "s0: i7\n", "seconds": 1}
{"program": "program f {", "target": "x86-64", "cpu": "c", "isa": "avx2", "schedule": "s0: i0\n", "more": null, "seconds": 1}
{"format": 2}
{"schedule": "s0: i0
$ loopwright db import tuned.jsonl --db t.db
1 read, 1 kept, 0 refused
$ loopwright db list --db t.db
kernel  function  sizes  isa     threads       time    gap schedules  trials  date
     1  sum       8      avx2          1   0.015 us   50 %         1       0  2026-11-15
$ loopwright db export --db t.db | cmp - tuned.jsonl
$ loopwright db show 1 --db t.db
kernel 1: sum, 1 thread, avx2 on a processor
  strides  dense
  program
    program f {
        input t0: f32[8]
        output t1: f32[]
    
        s0: for i0 in 0:8
            t1[] +=! t0[i0]
    }
  schedule 1: 0.015 us (0.014 us to 0.016 us), bound 0.01 us, gap 50 %, 1.20 times as fast as chosen; tuned on 2026-11-15 by 0.1.0; 11 samples; verified bit for bit
    s0: i0:v
$ loopwright db import bad.jsonl --db t.db
6 read, 0 kept, 6 refused
--- stderr
warning: 'bad.jsonl': line 1 is refused: an object was expected
warning: 'bad.jsonl': line 2 is refused: its program is not in canonical form
warning: 'bad.jsonl': line 3 is refused: it uses names that the program does not have
warning: 'bad.jsonl': line 4 is refused: expected '}', found the end of the text
warning: 'bad.jsonl': line 5 is refused: it was written by a newer version
warning: 'bad.jsonl': line 6 is refused: a string does not end
--- exit 1
$ loopwright db verify --db t.db
1 apply, 0 do not
$ loopwright db import - --db u.db < tuned.jsonl && loopwright db merge u.db t.db --db v.db && loopwright db list --db v.db --json
1 read, 1 kept, 0 refused
2 read, 2 kept, 0 refused
{"command": "db", "database": "v.db", "entries": [{"kernel": 1, "rank": 0, "name": "sum", "sizes": "8", "cpu": "a processor", "isa": "avx2", "threads": 1, "seconds": 1.5e-08, "gap": 0.5, "date": "2026-11-15T09:30:00Z", "origin": "tuned", "pinned": false, "trials": 0}], "diagnostics": [], "ok": true}
$ loopwright db import t.db --db w.db; loopwright db import /bin/true --db w.db
--- stderr
error: 't.db' is a database: `loopwright db merge` takes it
error: no line of '/bin/true' is an object: it is not what db export writes
--- exit 1
