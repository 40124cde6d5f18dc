# What this machine can do: measured once, kept, read again; a file that is not ours is ignored.
--- copy.tc
def copy(float(N) A) -> (B) { B(i) = A(i) }
--- gray.tc
def gray(uint8(H,W,3) I) -> (uint8(H,W) G) {
    G(h,w) = uint8(0.299 * I(h,w,0) + 0.587 * I(h,w,1) + 0.114 * I(h,w,2))
}
--- mixed.tc
def mixed(int32(M,K) A, int32(K,N) B, float s) -> (C, O) {
    C(m,n) +=! A(m,k) * B(k,n)
    O(m,n) = float(C(m,n)) * s
}
# A file that was written in a slow moment: what is faster has the machine measured again.
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
warning: '%/c/loopwright/{{.*}}.json' was written by another version or machine; measuring again
$ XDG_CACHE_HOME=/dev/null loopwright machine | tail -1
  measured now; kept in nowhere
--- stderr
warning: cannot write the measured rates to '/dev/null/loopwright/{{.*}}.json': {{.*}}
$ loopwright machine mv.tc
--- stderr
loopwright machine: 'mv.tc' needs --describe
usage: loopwright machine [MACHINE] [options]; --help explains them
--- exit 2
$ d="$PWD/cache/loopwright"; mkdir -p $d; XDG_CACHE_HOME="$PWD/cache" loopwright machine > /dev/null; f=$(ls $d); rm -f "$d/$f"; mkfifo "$d/$f"; XDG_CACHE_HOME="$PWD/cache" loopwright machine --remeasure > out; test -p "$d/$f" && tail -1 out
  measured now; kept in nowhere
--- stderr
warning: cannot write the measured rates to '%/cache/loopwright/{{.*}}.json': File exists
$ XDG_CACHE_HOME=%/slow loopwright machine > /dev/null && sed -i 's/\[[0-9.]*, [0-9.]*\]/[0.01, 0.01]/g' slow/loopwright/*.json && XDG_CACHE_HOME=%/slow loopwright run copy.tc --size N=1024 --time --threads 1 > out; sed -n 's/ *peak *\([0-9]*\).*/\1/p' out | awk '{print $1 <= 100}'; grep -c '\[0.01, ' slow/loopwright/*.json
1
0
--- stderr
note: this is faster than the machine was measured to be, which was in a slow moment then; measuring it again
--- exit 1
$ XDG_CACHE_HOME=%/slow loopwright run mixed.tc --size M=16,N=16,K=16 --time --threads 1 | sed -n 's/[0-9.]\+ [um]\?s/#/g; s/[0-9.]\+ G/# G/g; /time\|peak/p'
  time     median #, p10 #, p90 #, best #: # GFLOP/s, # Gop/s of integers, # GB/s
  peak     not measured for integers; moving the arguments takes # (# GB/s, L1)
$ XDG_CACHE_HOME=%/slow loopwright run gray.tc --size H=16,W=16 --time --threads 1 2>/dev/null | sed -n 's/[0-9.]\+ [um]\?s/#/g; s/[0-9.]\+ G/# G/g; /time/p'
  time     median #, p10 #, p90 #, best #: # GFLOP/s, # GB/s
