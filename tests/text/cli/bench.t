# Benchmarks from the command line: what is refused, and one item from end to end, without peers.
$ loopwright bench gem
--- stderr
loopwright bench: unknown suite 'gem'; did you mean 'gemm'?
usage: loopwright bench [SUITE...|FILE] [options]; --help explains them
--- exit 2
$ loopwright bench gemm --size M=4
--- stderr
loopwright bench: --size is for a program of your own: name its file
usage: loopwright bench [SUITE...|FILE] [options]; --help explains them
--- exit 2
$ XDG_CACHE_HOME=%/c loopwright bench gemm --only nothing --history none > out
--- stderr
loopwright bench: nothing is called 'nothing'
usage: loopwright bench [SUITE...|FILE] [options]; --help explains them
--- exit 2
$ loopwright bench nowhere.tc
--- stderr
error: cannot read 'nowhere.tc': No such file or directory
--- exit 1
$ XDG_CACHE_HOME=%/c loopwright bench gemm --quick --only 16 --peers none --peers-dir %/no --history %/h.jsonl > out
$ sed -n '2,3p;4p;6p;8p' out | sed 's/ [ 0-9.]* .*compiled.*//'
  no peers to compare with: `make bench-peers` builds them, --peers-dir names their folder

gemm: square, GFLOP/s
  16{{ .*[0-9.]+ %.*}}
1 row
$ XDG_CACHE_HOME=%/c loopwright bench gemm --quick --only 16 --peers none --history /dev/null/h > out
--- stderr
error: cannot append to '/dev/null/h': Not a directory
--- exit 1
$ XDG_CACHE_HOME=%/c XDG_DATA_HOME=/dev/null loopwright bench gemm --quick --only 16 --peers none > out
--- stderr
warning: cannot append to '/dev/null/loopwright/bench.jsonl': Not a directory
$ cut -c1-14 h.jsonl
{"kind": "run"
{"kind": "row"
$ grep -o '"item": "16", "sizes": "M=16,K=16,N=16"\|"checked": "interp"' h.jsonl
"item": "16", "sizes": "M=16,K=16,N=16"
"checked": "interp"
$ XDG_CACHE_HOME=%/c loopwright bench memory --only 'copy 4096' --quick --peers none --csv --history none | cut -d, -f1-5
suite,group,item,sizes,unit
memory,"streams","copy 4096","N=4096",GB/s
$ mkdir -p empty; XDG_CACHE_HOME=%/c loopwright bench @/examples/tc/mv.tc --size M=4,K=4 --quick --peers-dir empty --db none --history none > out
$ grep 'peers\|  mv\|library call\|equal' out
  no peers to compare with: `make bench-peers` builds them, --peers-dir names their folder
  mv {{.*}} -{{ *}}
  result equal to that of interp
$ printf 'def f(float(N) A) -> (O) {\n  O(i) = log(A(i) - A(i)) * 2.0\n}\ndef g(float(N) A) -> (O) {\n  O(i) = log(A(i) - A(i)) * (A(i) - A(i))\n}\ndef h(i32(N,K) A, i32(K,N) B) -> (O) {\n  O(i,j) +=! A(i,k) * B(k,j)\n}\n' > odd.tc
$ for f in f g h; do XDG_CACHE_HOME=%/c loopwright bench odd.tc --def $f --size N=64 $([ $f = h ] && echo --size K=64) --quick --peers none --peers-dir empty --db none --history none --json > out || echo failed; grep -o '"file"\|"checked": "interp"\|"unit": "GOP/s"\|"flops": 0\|"int_ops": [0-9]*\|"ok": true' out; done
"file"
"checked": "interp"
"ok": true
"file"
"checked": "interp"
"ok": true
"file"
"unit": "GOP/s"
"checked": "interp"
"flops": 0
"int_ops": 524288
"ok": true
