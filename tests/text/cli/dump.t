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
$ LW_DUMP=all loopwright run mv.tc --size M=8,K=16 --backend interp 2>&1 >/dev/null | grep "^#"
# parse
# bind
$ LW_DUMP=all loopwright run mv.tc --size M=8,K=16 --isa avx2 2>&1 >/dev/null | grep "^# [a-z]"
# parse
# bind
# choose
# lower
# verify
# generate
$ LW_DUMP=lower,plan loopwright run mv.tc --size M=8,K=16
--- stderr
error: LW_DUMP is 'lower,plan'; it can be all, or these with commas between: parse, bind, find, look_up, choose, lower, verify, generate, install, run
--- exit 1
