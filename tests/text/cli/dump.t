# LW_DUMP prints the results of the steps that it lists to standard error.
--- mv.tc
def mv(float(M,K) A, float(K) x) -> (C) { C(i) +=! A(i,k) * x(k) }
--- mv.lws
C: i k
$ LW_DUMP=bind,choose,lower,verify loopwright run mv.tc --size M=8,K=16 --schedule mv.lws 2>&1 >/dev/null
# bind
program mv {
    input A: f32[8, 16]
    input x: f32[16]
    output C: f32[8]

    C: for i in 0:8, k in 0:16
        C[i] +=! A[i, k]*x[k]
}
# choose
C: i k
# lower
for i in 8
  C[i] = 0.0
  for k in 16
    C[i] += A[i, k]*x[k]
# verify
verified
$ LW_DUMP=parse,infer loopwright run mv.tc --size M=8,K=160 2>&1 >/dev/null
# parse
program mv(M, K) {
    input A: f32[M, K]
    input x: f32[K]
    output C: f32[?]

    C: for i, k
        C[i] +=! A[i, k]*x[k]
}
# infer
program mv(M, K) {
    input A: f32[M, K]
    input x: f32[K]
    output C: f32[M]

    C: for i in 0:M, k in 0:K
        C[i] +=! A[i, k]*x[k]
}
$ LW_DUMP=plan loopwright run mv.tc --size M=8,K=160 --isa avx2 --schedule naive 2>&1 >/dev/null
# plan
for i in 8                                      # machine loop
  C[i] = 0.0                                    # region of 2 nodes
  for k in 160                                  # machine loop, 8 copies of the body
    C[i] += A[i, k]*x[k]
pointer 0: C + 4*i
pointer 1: A + 640*i + 4*k
pointer 2: x + 4*k
$ LW_DUMP=all loopwright run mv.tc --size M=8,K=16 --backend interp 2>&1 >/dev/null | grep "^#"
# parse
# infer
# bind
$ LW_DUMP=all loopwright run mv.tc --size M=8,K=16 --isa avx2 2>&1 >/dev/null | grep "^# [a-z]"
# parse
# infer
# bind
# choose
# lower
# verify
# plan
# generate
$ LW_DUMP=lower,plane loopwright run mv.tc --size M=8,K=16
--- stderr
error: LW_DUMP is 'lower,plane'; it can be all, or these with commas between: parse, infer, bind, find, look_up, choose, lower, verify, plan, generate, install, run
--- exit 1
