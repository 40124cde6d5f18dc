# Two runs agree on a row where their intervals overlap: of the time, and of the ratio to the best peer that counts.
--- h.jsonl
{"kind": "run", "run": "0"}
{"kind": "run", "run": "1"}
{"kind": "row", "run": "1", "suite": "gemm", "group": "square", "item": "16", "us": 1.5, "low_us": 1, "high_us": 2, "peers": [{"name": "slow", "ratio": 2.5, "low": 2, "high": 3, "counts": true}, {"name": "fast", "ratio": 0.85, "low": 0.8, "high": 0.9, "counts": true}, {"name": "wrong", "ratio": 0.1, "low": 0.1, "high": 0.2, "counts": false}]}
{"kind": "row", "run": "1", "suite": "gemm", "group": "square", "item": "32", "us": 5.5, "low_us": 5, "high_us": 6, "peers": []}
{"kind": "row", "run": "1", "suite": "gemm", "group": "square", "item": "64", "us": 10.5, "low_us": 10, "high_us": 11, "peers": [{"name": "fast", "ratio": 1.05, "low": 1, "high": 1.1, "counts": true}]}
{"kind": "row", "run": "1", "suite": "gemm", "group": "square", "item": "128", "note": "it does not bind"}
{"kind": "run", "run": "2"}
{"kind": "row", "run": "2", "suite": "gemm", "group": "square", "item": "16", "us": 2, "low_us": 1.5, "high_us": 3, "peers": [{"name": "fast", "ratio": 0.93, "low": 0.91, "high": 0.95, "counts": true}]}
{"kind": "row", "run": "2", "suite": "gemm", "group": "square", "item": "32", "us": 6.5, "low_us": 6, "high_us": 7, "peers": []}
{"kind": "row", "run": "2", "suite": "gemm", "group": "square", "item": "64", "us": 12.5, "low_us": 12, "high_us": 13, "peers": [{"name": "fast", "ratio": 1.1, "low": 1.05, "high": 1.2, "counts": true}]}
$ loopwright bench --agree h.jsonl
  gemm: square, 16: ratio to fast [0.8, 0.9] and [0.91, 0.95]
  gemm: square, 64: us [10, 11] and [12, 13]
1 of 3 rows agree (33.3 %): times 66.7 %, ratios to the best peer 50.0 %
--- stderr
error: fewer than 95 % of the rows agree: the machine changed by more between the runs than it did in each
--- exit 1
$ loopwright bench --agree h.jsonl h.jsonl
3 of 3 rows agree (100.0 %): times 100.0 %, ratios to the best peer 100.0 %
$ head -2 h.jsonl > none.jsonl; loopwright bench --agree none.jsonl
--- stderr
error: the two runs have no row in common
--- exit 1
$ head -1 h.jsonl > one.jsonl; loopwright bench --agree one.jsonl
--- stderr
error: there are no two runs to compare: `loopwright bench` adds one
--- exit 1
$ echo '{"kind": "run", }' > bad.jsonl; loopwright bench --agree bad.jsonl
--- stderr
error: 'bad.jsonl', line 1: this is no JSON
--- exit 1
$ loopwright bench --agree nowhere.jsonl
--- stderr
error: cannot read 'nowhere.jsonl': No such file or directory
--- exit 1
