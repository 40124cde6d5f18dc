# What this machine can do: measured once, kept, read again; a file that is not ours is ignored.
$ XDG_CACHE_HOME=%/c loopwright machine | sed -n '2p;4p;5p;$p' | tr -s ' '
 {{(scalar|avx2|avx512), \d+ cores?, L1 .*}}
 multiply-add, GFLOP/s one core all cores
 scalar f32 {{[0-9.]+ [0-9.]+}}
 measured now; kept in %/c/loopwright/{{machine-.*\.json}}
$ XDG_CACHE_HOME=%/c loopwright machine | tail -1
  from %/c/loopwright/{{machine-.*\.json}}
$ XDG_CACHE_HOME=%/c loopwright machine --json | grep -o '"L1": {"load": \[[0-9.]*, [0-9.]*\]'
"L1": {"load": [{{[0-9.]+, [0-9.]+}}]
$ XDG_CACHE_HOME=%/c loopwright machine --json | grep -o '"measured": [a-z]*'
"measured": false
$ sed -i 's/"cores": /"cores": 1/' c/loopwright/*.json && XDG_CACHE_HOME=%/c loopwright machine | tail -1
  measured now; kept in %/c/loopwright/{{machine-.*\.json}}
--- stderr
warning: '%/c/loopwright/{{.*}}.json' does not describe this machine as measured by this version; measuring again
$ XDG_CACHE_HOME=/dev/null loopwright machine | tail -1
  measured now; kept in nowhere
--- stderr
warning: cannot keep what was measured in '/dev/null/loopwright/{{.*}}.json': {{.*}}
$ loopwright machine mv.tc
--- stderr
loopwright machine: it takes no file, not 'mv.tc'
usage: loopwright machine [options]; --help explains them
--- exit 2
$ d="$PWD/cache/loopwright"; mkdir -p $d; XDG_CACHE_HOME="$PWD/cache" loopwright machine > /dev/null; f=$(ls $d); rm -f "$d/$f"; mkfifo "$d/$f"; XDG_CACHE_HOME="$PWD/cache" loopwright machine --remeasure > out; test -p "$d/$f" && tail -1 out
  measured now; kept in nowhere
--- stderr
warning: cannot keep what was measured in '%/cache/loopwright/{{.*}}.json': File exists
