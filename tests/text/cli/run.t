# Running on random data: the summary, and what it needs.
--- mv.tc
def mv(float(M,K) A, float(K) x) -> (C) {
    C(m) +=! A(m,k) * x(k)
}
--- two.tc
def first(int32(N) A) -> (B) { B(i) = A(i) + 1 }
def second(int32(N) A) -> (B) { B(i) = A(i) * 2 }
$ loopwright run mv.tc --size M=4,K=3
mv(f32(M, K) A, f32(K) x) -> (f32(M) C)
  sizes    M = 4, K = 3
  backend  jit: 12 iterations in {{.*}}
  in       f32(4, 3) A: random, seed 0
  in       f32(3) x: random, seed 0
  out      f32(4) C: checksum 779c24a75706378b
           [-0.5193594, 0.33676788, 0.084502585, -0.434449]
$ loopwright run mv.tc --size M=4,K=3 --seed 1 | tail -1
           [0.7061867, 0.09453944, -0.6866988, -0.54220015]
$ loopwright run mv.tc --size=M=4 --size K=3 --seed=1 --backend interp | tail -1
           [0.7061867, 0.09453944, -0.6866988, -0.54220015]
$ loopwright run mv.tc --size M=0,K=3
mv(f32(M, K) A, f32(K) x) -> (f32(M) C)
  sizes    M = 0, K = 3
  backend  jit: 0 iterations in {{.*}}
  in       f32(0, 3) A: random, seed 0
  in       f32(3) x: random, seed 0
  out      f32(0) C: checksum cbf29ce484222325
           []
$ loopwright run mv.tc
--- stderr
error: 'mv' needs a value for M, K
note: give values by name; on the command line, for example, --size M=8,K=8
--- exit 1
$ loopwright run mv.tc --size M=4,k=3
--- stderr
error: 'mv' has no size or scalar argument 'k'
note: did you mean 'K'?
--- exit 1
$ loopwright run mv.tc --size M=-1,K=3
--- stderr
mv.tc:1:14: error: size 'M' is -1, but sizes are at least 0
  def mv(float(M,K) A, float(K) x) -> (C) {
               ^
--- exit 1
$ loopwright run mv.tc --size M=4,K=3 --backend c | grep checksum
  out      f32(4) C: checksum 779c24a75706378b
$ loopwright run mv.tc --size M=1,K=1 --out D=d.npy
--- stderr
error: --out D: 'mv' has no result of that name; it is mv(f32(M, K) A, f32(K) x) -> (f32(M) C)
--- exit 1
$ loopwright run mv.tc --size M=1,K=1 --in C=c.npy
--- stderr
error: --in C: it is a result whose old content does not matter
--- exit 1
$ loopwright run two.tc --size N=3
--- stderr
error: 'two.tc' has several functions: first, second; choose one by --def NAME
--- exit 1
$ loopwright run two.tc --def secnd --size N=3
--- stderr
error: no function 'secnd' in 'two.tc'; did you mean 'second'?
--- exit 1
$ loopwright run two.tc --def second --size N=3 | tail -2
  out      i32(3) B: checksum 94030b6defaf9ee3
           [6, -6, -6]
$ loopwright run two.tc --def second --size N=3 --json
{"command": "run", "file": "two.tc", "def": "second", "signature": "second(i32(N) A) -> (i32(N) B)", "sizes": {"N": 3}, "backend": "jit", "instances": 3, "compile_us": {{.*}}, "time_us": {"median": {{.*}}, "p10": {{.*}}, "p90": {{.*}}}, "gops": {{.*}}, "gbps": {{.*}}, "outputs": [{"name": "B", "shape": [3], "dtype": "i32", "checksum": "94030b6defaf9ee3", "values": [6, -6, -6]}], "diagnostics": [], "ok": true}
$ loopwright run two.tc --def second --size N=3 --time | sed -n 's/[0-9.]\+ [um]\?s/#/g; s/[0-9.]\+ G/# G/g; /time\|peak/p'
  time     median #, p10 #, p90 #, best #: # Gop/s, # GB/s
  peak     not measured for integers; moving the arguments takes # (# GB/s, L1)
$ loopwright run two.tc --def second --size Q=3
--- stderr
error: 'second' has no size or scalar argument 'Q'
note: there is 'N'
--- exit 1
