# A dataflow graph as a file: checked, shown as a Program, run.
--- window.lwg
graph window
dim H
dim K = 2
dim O
%x = read X i32 [H]
%v = view %x [O, K] where H = O + K
%s = add %v [O]
%w = write Y %s [O]
--- wrong.lwg
graph wrong
dim N
%x = read X f32 [N]
%y = exq %x [N]
$ loopwright check window.lwg
window(i32(H) X) -> (i32(H - 1) Y)
$ loopwright show window.lwg
program window(H) {
    input X: i32[H]
    output Y: i32[H - 1]
    require H - 1 >= 0 "the size of 'O' is not negative"

    Y: for o in 0:H - 1, k in 0:2
        Y[o] +=! X[o + k]
}
$ @/tests/npy write x.npy '<i4' 4 1 2 30 400 && loopwright run window.lwg --in X=x.npy | tail -1
           [3, 32, 430]
$ loopwright check wrong.lwg
--- stderr
wrong.lwg:4:6: error: unknown operation 'exq'
  %y = exq %x [N]
       ^~~
note: did you mean 'exp'?
--- exit 1
