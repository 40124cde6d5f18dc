# Skewing as an action: of a Schedule, and of a Tree. A refusal names the skew that helps.
$ loopwright edit @/examples/tc/heat2d.tc --size M=100,N=100,T=20 --schedule naive --do 'split U.1:i 16; swap U.1:t U.1:i/16'
--- stderr
--do:1:17: error: cannot swap: the loop 'i/16' would run 'U.1' at t = 1, i = 0, j = 0 before 'U.1' at t = 0, i = 1, j = 0: both access 'U'
  split U.1:i 16; swap U.1:t U.1:i/16
                  ^~~~~~~~~~~~~~~~~~~
note: 'skew i by t' keeps the order along this loop
--- exit 1
$ loopwright edit @/examples/tc/heat2d.tc --size M=100,N=100,T=20 --schedule naive --do 'split U.1:i 16; skew U.1:i U.1:t 1; swap U.1:t U.1:i/16' -o h.lws; cat h.lws
U: i j
U.1: i/16 t i j
    skew i by t
B: i j
$ loopwright run @/examples/tc/heat2d.tc --size M=100,N=100,T=20 --schedule h.lws --check | grep check
  check    right: bit for bit, against the interpreter
$ loopwright edit @/examples/tc/heat2d.tc --size M=100,N=100,T=20 --schedule h.lws --do 'skew U.1:i U.1:t -1'
--- stderr
--do:1:1: error: cannot skew: the loop 'i/16' would run 'U.1' at t = 1, i = 0, j = 0 before 'U.1' at t = 0, i = 0, j = 0: both access 'U'
  skew U.1:i U.1:t -1
  ^~~~~~~~~~~~~~~~~~~
note: 'skew i by t' keeps the order along this loop
--- exit 1
$ loopwright edit @/examples/tc/heat2d.tc --size M=100,N=100,T=20 --schedule naive --do 'skew U.1:i U.1:t 2; skew U.1:i U.1:t 0'
U: i j
U.1: t i j
B: i j
$ loopwright edit @/examples/tc/heat2d.tc --size M=100,N=100,T=20 --schedule naive --do 'skew U.1:i U.1:i 2'
--- stderr
--do:1:1: error: cannot skew: both are loops over one iterator
  skew U.1:i U.1:i 2
  ^~~~~~~~~~~~~~~~~~
--- exit 1
$ loopwright edit @/examples/tc/cumsum.tc --size T=5,N=8 --schedule naive --stage stripe --do 'skew @4 t 2' -o c.stripe; loopwright edit c.stripe --stage tree
for i in 8
  Y[0, i] = X[0, i]
for t in 4
  for i in 14, t.1 = t where i - 2*t >= 0 and 2*t - i + 7 >= 0
    Y[t + 1, i - 2*t] = Y[t, i - 2*t] + X[t + 1, i - 2*t]
$ loopwright edit @/examples/tc/cumsum.tc --size T=5,N=8 --schedule naive --stage stripe --do 'skew t @4 2'
--- stderr
--do:1:1: error: cannot skew: the other loop is not around it
  skew t @4 2
  ^~~~~~~~~~~
--- exit 1
$ echo 'U.1: t/50 i/16 t i j:v' > order.lws; loopwright run @/examples/tc/heat2d.tc --size M=100,N=100,T=100 --schedule order.lws 2>&1 | sed -n 's/.*error: /error: /p' > said; cat said; grep -c "^    $(cat said)$" @/docs/schedules.md
error: the loop 'i/16' would run 'U.1' at t = 1, i = 0, j = 0 before 'U.1' at t = 0, i = 1, j = 0: both access 'U'
1
