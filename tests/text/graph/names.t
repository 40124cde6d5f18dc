# Temporaries and their statements are named after the nodes, so Schedules and edits use these names.
# A name that a tensor, a dimension or an iterator has gets an underscore.
--- softmax.lwg
graph softmax
dim N
dim K
%x = read X f32 [N, K]
%top = max %x [N]
%n = sub %x %top [N, K]
%e = exp %n [N, K]
%X = add %e [N]
%y = div %e %X [N, K]
%out = write Y %y [N, K]
$ loopwright edit softmax.lwg --size N=4,K=8 --schedule naive --do 'decrease_reuse top; inline n_; split e:k 2'
top: n | k
n_:
    inline
e: n k/2 k
X_: n k/2 k
Y: n k
