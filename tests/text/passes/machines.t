# Every shipped description runs a product with bias and relu; includes, overrides and misuse.
--- mm.tc
def mm(float(M,K) A, float(K,N) B, float(N) b) -> (D) {
    C(m,n) +=! A(m,k) * B(k,n)
    D(m,n) = fmax(C(m,n) + b(n), 0.0)
}
--- small.lwm
machine small "avx512 with a small L2"
include avx512
memory L2 size=256KiB
set order registers=4
drop parallel
pass deps before=order
$ for m in avx2 avx512 avx512-vnni neon accelerator small.lwm; do loopwright run mm.tc --size M=37,N=70,K=19 --machine $m --check | tail -1; done
  check    right: bit for bit, against the interpreter
  check    right: bit for bit, against the interpreter
  check    right: bit for bit, against the interpreter
  check    right: bit for bit, against the interpreter
  check    right: bit for bit, against the interpreter
  check    right: bit for bit, against the interpreter
$ loopwright passes mm.tc --size M=8,N=8,K=4 --machine nvidia-sm90
C f32[8, 8] 256 B
for m in 8 grid.x
  for n in 8 thread.x
    C[m, n] = 0.0
for m in 8 grid.x
  for n in 8 thread.x
    for k in 4 any
      C[m, n] += A[m, k]*B[k, n]
for m in 8 grid.x
  for n in 8 thread.x
    D[m, n] = fmax(C[m, n] + b[n], 0.0)
$ loopwright machine --describe small.lwm | grep -v '^ *index\|^stencil'
machine small "avx512 with a small L2"
memory DRAM line=64
memory L3 in=DRAM size=32MiB line=64 bandwidth=16
memory L2 in=L3 size=256KiB line=64 ways=8 bandwidth=32
memory L1 in=L2 size=32KiB line=64 align=64 bandwidth=128
compute core in=DRAM count=8 rate=4
pass flatten
pass dead
pass stencil as=blocks reqs=#copy use=transpose.L1
pass stencil reqs=#contraction outer=#tiles whole=yes fits=L2
pass cache as=pack.deep reqs=#tiles_of=panel.deep unit=L2 out=no strided=yes
pass cache as=pack.split reqs=#tiles_of=panel.split unit=L2 out=no strided=yes
pass fuse a=#zero b=#tiles always=yes
pass cache as=pack reqs=#tiles unit=L2 out=no along=stencil_n
pass cache as=pack.many reqs=#tiles_of=panel.many unit=L2 out=no strided=yes
pass cache as=pack.rows reqs=#tiles_of=panel.rows unit=L2 out=no strided=yes
pass cache as=pack.points reqs=#tiles_of=panel.points unit=L2 out=no strided=yes
pass stencil as=panels reqs=#stencil=panel outer=#tiles whole=yes
pass stencil as=many reqs=#stencil=panel.many outer=#tiles use=fma.1,fma.2,fma.3,fma.4,fma.5 whole=yes
pass stencil as=rows reqs=#stencil=panel.rows outer=#tiles use=fma.1,fma.2,fma.3,fma.4,fma.5 whole=yes
pass stencil as=split reqs=#stencil=panel.split outer=#tiles use=fma.1,fma.2,fma.3,fma.4,fma.5 whole=yes
pass stencil as=points reqs=#stencil=panel.points outer=#tiles use=fma.1,fma.2,fma.3,fma.4,fma.5,fma.6,fma.7,window.1,window.2 whole=yes
pass stencil as=deep reqs=#stencil=panel.deep outer=#tiles use=fma.1,fma.2,fma.3,fma.4,fma.5,fma.6,fma.7,window.1,window.2 whole=yes
pass fuse as=start a=#zero b=#tiles always=yes
pass stencil as=copies reqs=#cache use=transpose
pass stencil as=lanes reqs=#stencil=transpose.L1 use=transpose
pass fuse as=epilogue a=#tiles b=#eltwise fits=L2
pass fuse as=eltwise a=#eltwise b=#eltwise
pass fuse as=kernels exclude=#tiles fits=L1
pass localize
pass scalarize
pass constraints
pass prune
pass order as=groups.4 reqs=#stencil=group.4 vector=4 registers=64
pass order as=groups.8 reqs=#stencil=group.8 vector=8 registers=32
pass deps
pass order vector=128 registers=4 fits=L1
pass stream fits=L3
$ loopwright machine --describe small.lwm > again.lwm && loopwright machine --describe again.lwm | cmp - again.lwm && loopwright machine --describe | head -1
machine host "{{.*}}"
$ loopwright passes mm.tc --size M=8,N=8,K=4
--- stderr
loopwright passes: which machine? --machine avx512, or a file
usage: loopwright passes FILE [options]; --help explains them
--- exit 2
$ loopwright run mm.tc --size M=8,N=8,K=4 --machine avx2 --schedule naive
--- stderr
loopwright run: --schedule and --machine both make the loops: give one of them
usage: loopwright run FILE [options]; --help explains them
--- exit 2
$ loopwright passes mm.tc --size M=8,N=8,K=4 --machine avx2 --until tiel
--- stderr
error: the passes of 'avx2' have no label 'tiel'
note: there are 'flatten', 'dead', 'blocks', 'stencil', 'pack.deep', 'pack.split', 'fuse', 'pack', 'pack.many', 'pack.rows', 'pack.points', 'panels', ...
--- exit 1
$ loopwright run mm.tc --size M=8,N=8,K=4 --machine avx51
--- stderr
error: no machine 'avx51'
note: did you mean 'avx512'?
--- exit 1
$ loopwright run mm.tc --size M=8,N=8,K=4 --machine nowhere.lwm
--- stderr
error: cannot read the machine description 'nowhere.lwm': No such file or directory
--- exit 1
