# Kernels as machine code of one architecture, by libnvJitLink or ptxas, with the header of PTX; names of kernels are identifiers; a buffer without room in shared memory is in global memory, with a warning.
--- mv.tc
def mv(float(M,K) A, float(K) x) -> (C) {
    C(m) +=! A(m,k) * x(k)
}
--- 2mv.tc
def 2mv(float(M,K) A, float(K) x) -> (C) { C(m) +=! A(m,k) * x(k) }
--- mm.tc
def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }
--- large.lws
C: m/128:grid.y n/128:grid.x k/256 m/8:thread.y k n/64 n/4:thread.x m n
    copy A at k/256 place shared stages 3 by async
    copy B at k/256 place shared
$ for c in ptxas nvjitlink; do LW_GPU_COMPILER=$c loopwright compile mv.tc --size M=8,K=4 --emit cubin --target sm_90 -o mv.cubin 2> log; grep -q 'no assembler' log && printf ELF || head -c 4 mv.cubin | tail -c 3; echo; done | uniq
ELF
$ loopwright compile mv.tc --size M=8,K=4 --emit ptx --name mv_8x4 -o mv.ptx --json | sed 's/.*"function"/"function"/'
"function": "mv_8x4_launch", "kernels": "mv.ptx", "header": "mv.h", "diagnostics": [], "ok": true}
$ LW_GPU_COMPILER=ptxas LW_PTXAS=no-such-ptxas loopwright compile mv.tc --size M=8,K=4 --emit cubin -o mv.cubin
--- stderr
error: no assembler for PTX: libnvJitLink does not load, and there is no 'no-such-ptxas'
note: install the assembler of CUDA, name its ptxas in the environment variable LW_PTXAS, or write PTX, which the GPU's driver assembles
--- exit 1
$ LW_GPU_COMPILER=ptxas LW_PTXAS=false loopwright compile mv.tc --size M=8,K=4 --emit cubin -o mv.cubin
--- stderr
error: the assembler rejects the generated PTX: 'false' ends with status 1
--- exit 1
$ printf '#!/bin/sh\necho "Value ${1#*=} is not defined for option gpu-name" >&2\nexit 1\n' > old-ptxas && chmod +x old-ptxas && LW_GPU_COMPILER=ptxas LW_PTXAS=./old-ptxas loopwright compile mv.tc --size M=8,K=4 --emit cubin --target sm_999 -o mv.cubin
--- stderr
error: the assembler has no target 'sm_999': Value sm_999 is not defined for option gpu-name
--- exit 1
$ loopwright show 2mv.tc --size M=8,K=4 --stage ptx | grep entry
.visible .entry v2mv_0(
$ loopwright show mm.tc --size M=256,N=256,K=512 --schedule large.lws --stage ptx | grep -c "cp.async.cg"; true
0
--- stderr
mm.tc:1:45: warning: 'C.A' is in global memory: it takes 399344 bytes of shared memory, and 23568 are left
  def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }
                                              ^~~~~~~~~~~~~~~~~~~~~~~~~~
note: smaller tiles or fewer stages make room
