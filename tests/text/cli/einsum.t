# einsum over files.
$ @/tests/npy write a.npy '<f4' 2,3 1 2 3 4 5 6 && @/tests/npy write x.npy '<f4' 3 1 10 100 && @/tests/npy write s.npy '<i4' 2,2 1 2 3 4
$ loopwright einsum 'ij,j->i' a.npy x.npy --out c.npy
einsum(f32(N_i, N_j) in0, f32(N_j) in1) -> (f32(N_i) out)
  sizes    N_i = 2, N_j = 3
  backend  jit: 6 iterations in {{.*}}
  in       f32(2, 3) in0: from a.npy
  in       f32(3) in1: from x.npy
  out      f32(2) out: checksum bb5e800621763a4b
           [321, 654]
$ @/tests/npy print c.npy
{'descr': '<f4', 'fortran_order': False, 'shape': (2,), } 321.0 654.0
$ loopwright einsum 'ji' a.npy | tail -1
           [1, 4, 2, 5, 3, 6]
$ loopwright einsum ii s.npy | tail -1
           5
$ loopwright einsum '...j->...' a.npy | tail -1
           [6, 15]
$ loopwright einsum 'ij,jk->ik' a.npy x.npy
--- stderr
<einsum>:1:4: error: the subscripts of operand 1 name 2 dimensions, but it has 1
  ij,jk->ik
     ^~
--- exit 1
$ loopwright einsum 'ij,j->i' a.npy
--- stderr
<einsum>:1:3: error: the subscripts describe 2 operands, but the number of operands given is 1
  ij,j->i
    ^
--- exit 1
$ loopwright einsum 'ij,j->i' a.npy nowhere.npy
--- stderr
error: cannot read 'nowhere.npy': No such file or directory
--- exit 1
$ loopwright einsum ii s.npy --json
{"command": "einsum", "def": "einsum", "signature": "einsum(i32(N_i, N_i) in0) -> (i32 out)", "sizes": {"N_i": 2}, "backend": "jit", "instances": 2, "compile_us": {{.*}}, "time_us": {"median": {{.*}}, "p10": {{.*}}, "p90": {{.*}}}, "gops": {{.*}}, "gbps": {{.*}}, "outputs": [{"name": "out", "shape": [], "dtype": "i32", "checksum": "2d401a55eec16520", "values": [5]}], "diagnostics": [], "ok": true}
$ @/tests/npy write i.npy '<f4' 2,2 1 0 0 1 && echo 'out: j i' > e.lws && loopwright einsum 'ij->ji' i.npy --schedule e.lws --isa avx2 --threads 1 --time | sed -n '/time\|peak/s/[0-9.]\+/#/g; /time/s/:.*//p; /\[/p'
  time     median # us, p# # us, p# # us, best # us
           [1, 0, 0, 1]
$ loopwright einsum 'mk,kn->mn' --size m=3
--- stderr
loopwright einsum: no option '--size' here: the arrays tell the sizes
usage: loopwright einsum SUBSCRIPTS FILE... [options]; --help explains them
--- exit 2
