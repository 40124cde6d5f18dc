# Figures 2, 3 and 6 of the Stripe paper: tiles of neighbours and of every n-th element; a nest made by
# partitioning, tiling and a matrix instruction; the way from several languages through flat Stripe to code.
--- copy.tc
def copy(float(Y,X) A) -> (B) { B(y,x) = A(y,x) + 1.0 }
--- mm.tc
def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }
--- blocks.lwm
machine blocks "tiles of 2 x 3 neighbours"
pass flatten
pass autotile even=yes max_product=6 min_size=6 input_cost=0 output_cost=0 split_factor=0
--- strided.lwm
machine strided "tiles of every n-th element"
include blocks.lwm
set autotile interleave=yes
--- levels.lwm
machine levels "cores, each with a memory and a 4x4 unit"
memory DRAM line=64
memory SRAM in=DRAM size=1KiB
compute CORE in=SRAM count=2
stencil mac
  index m size=4 out=any in=any,0
  index n size=4 out=1 in=0,1
  index k size=any out=0 in=any,any
pass flatten
pass partition reqs=#contraction unit=CORE outer=#cores
pass autotile reqs=#contraction inner=#tile po2=yes acc=no fits=SRAM
pass stencil reqs=#tile
$ loopwright passes copy.tc --size Y=4,X=9 --machine blocks.lwm
for y in 2, x in 3 any
  for y.1 in 2, x.1 in 3 any
    B[2*y + y.1, 3*x + x.1] = A[2*y + y.1, 3*x + x.1] + 1.0
$ loopwright passes copy.tc --size Y=4,X=9 --machine strided.lwm
for y in 2, x in 3 any
  for y.1 in 2, x.1 in 3 any
    B[y + 2*y.1, x + 3*x.1] = A[y + 2*y.1, x + 3*x.1] + 1.0
$ loopwright passes mm.tc --size M=16,N=16,K=8 --machine levels.lwm | tail -5
for m in 2 any
  for n in 2 any
    for m.1 in 2, n.1 in 2 any
      for m.2 in 4, n.2 in 4, k in 8 any
        C[8*m + 4*m.1 + m.2, 8*n + 4*n.1 + n.2] += A[8*m + 4*m.1 + m.2, k]*B[k, 8*n + 4*n.1 + n.2]
$ loopwright passes mm.tc --size M=16,N=16,K=8 --machine levels.lwm > tc && loopwright passes @/examples/graphs/matmul.lwg --size M=16,N=16,K=8 --machine levels.lwm > graph && cmp tc graph
$ loopwright passes mm.tc --size M=16,N=16,K=8 --machine levels.lwm --until flatten --stage stripe > flat.stripe && loopwright passes flat.stripe --machine levels.lwm > stripe && cmp tc stripe
$ loopwright run flat.stripe --machine avx2 --check | tail -1
  check    right: bit for bit, against the interpreter
