# Pages from histories: what is there, what cannot be read or written.
--- h.jsonl
{"kind": "run", "run": "1", "date": "2026-01-01", "version": "0.1.0", "machine": {"cpu": "a </script> b"}}
{"kind": "row", "run": "1", "suite": "gemm", "group": "square", "item": "64", "unit": "GFLOP/s", "us": 3, "rate": 170, "peers": []}
not a line of JSON
$ loopwright report --from h.jsonl -o r.html
r.html
$ grep -c '</script>' r.html; grep -c 'a \\u003c/script> b' r.html; grep -cE 'src=|href="http' r.html
2
1
0
--- exit 1
$ loopwright report --from nowhere.jsonl -o s.html; ls s.html
--- stderr
error: cannot read 'nowhere.jsonl': No such file or directory
ls: cannot access 's.html': No such file or directory
--- exit 2
$ loopwright report --from nowhere.jsonl -o r.html 2> err; ls r.html; ls r.html.part
r.html
--- stderr
ls: cannot access 'r.html.part': No such file or directory
--- exit 2
$ loopwright report --from h.jsonl -o h.jsonl
--- stderr
loopwright report: -o would write over 'h.jsonl', which is read
usage: loopwright report [LOG...] [options]; --help explains them
--- exit 2
$ loopwright report --from h.jsonl -o no/r.html
--- stderr
error: cannot write 'no/r.html': No such file or directory
--- exit 1
$ loopwright report --from h.jsonl -o r.html --json
{"command": "report", "page": "r.html", "diagnostics": [], "ok": true}
$ echo no JSON > t.txt; loopwright report t.txt -o s.html; ls s.html
--- stderr
error: no line of 't.txt' is JSON: it is neither a history of `loopwright bench` nor a log of `loopwright tune`
ls: cannot access 's.html': No such file or directory
--- exit 2
