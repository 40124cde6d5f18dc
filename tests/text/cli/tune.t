# Tuning from the command line: what is refused, and small searches from end to end.
--- mm.tc
def mm(float(M,K) A, float(K,N) B) -> (C) {
    C(m,n) +=! A(m,k) * B(k,n)
}
--- two.tc
def twice(float(N) A) -> (B) { B(i) = A(i) * 2 }
def sum(float(N) A) -> (s) { s +=! A(i) }
$ loopwright tune mm.tc --size M=8,K=8,N=8 --strategy gentic
--- stderr
loopwright tune: 'gentic' is not a valid strategy; there are auto, random, exhaustive, greedy, beam, genetic, mcts, sweep, poly; did you mean 'genetic'?
usage: loopwright tune FILE [options]; --help explains them
--- exit 2
$ loopwright tune mm.tc --size M=8,K=8,N=8 --strategy 'auto,random width=3'
--- stderr
loopwright tune: 'width=3' is not a valid option of random; there are batch, scratch, blind
usage: loopwright tune FILE [options]; --help explains them
--- exit 2
$ loopwright tune mm.tc --size M=8,K=8,N=8 --strategy 'beam wdth=3'
--- stderr
loopwright tune: 'wdth=3' is not a valid option of beam; there are width, lookahead, batch, scratch, blind; did you mean 'width'?
usage: loopwright tune FILE [options]; --help explains them
--- exit 2
$ loopwright tune mm.tc --size M=8,K=8,N=8 --strategy 'beam width=0'
--- stderr
loopwright tune: 'width=0' is not a valid value of width; there are whole numbers from 1 to 1000000
usage: loopwright tune FILE [options]; --help explains them
--- exit 2
$ loopwright tune mm.tc --size M=8,K=8,N=8 --order kind,impct
--- stderr
loopwright tune: 'impct' is not a valid order of decisions; there are given, reversed, impact, {{.*}}kind, size{{.*}}; did you mean 'impact'?
usage: loopwright tune FILE [options]; --help explains them
--- exit 2
$ loopwright tune mm.tc --size M=8,K=8,N=8 --plot best.pdf
--- stderr
loopwright tune: --plot writes SVG, and no other format: NAME.svg, not 'best.pdf'
usage: loopwright tune FILE [options]; --help explains them
--- exit 2
$ loopwright tune mm.tc --size M=8,K=8,N=8 --gap lots
--- stderr
loopwright tune: --gap takes a number above 0, such as --gap 3%, not 'lots'
usage: loopwright tune FILE [options]; --help explains them
--- exit 2
$ loopwright tune mm.tc --size M=8,K=8,N=8 --size M=9 -o w.lws
--- stderr
loopwright tune: -o names one file, and there are 2 winners
usage: loopwright tune FILE [options]; --help explains them
--- exit 2
$ loopwright tune mm.tc --size M=8,K=8,N=8 --log mm.tc
--- stderr
loopwright tune: --log would write over 'mm.tc', which is read
usage: loopwright tune FILE [options]; --help explains them
--- exit 2
$ loopwright explain mm.tc --size M=8,K=8,N=8 -o ./mm.tc
--- stderr
loopwright explain: -o would write over './mm.tc', which is read
usage: loopwright explain FILE [options]; --help explains them
--- exit 2
$ XDG_CACHE_HOME=%/c loopwright tune mm.tc --size M=8,K=8,N=8 --trials 20 --seconds 9 --db none --quiet --log t.jsonl --plot b.svg -o w.lws > out
$ XDG_CACHE_HOME=%/c loopwright tune mm.tc --size M=8,K=8,N=8 --gap 900 --trials 9 --db none --quiet --json > curve
$ python3 -c "import json; t = json.load(open('curve'))['tunings'][0]; print(t['curve'][-1]['us'] == t['us'], all(p['us'] > 0 for p in t['curve']))"
True True
$ sed -n '1p;/certificate/p;/trials/p;/schedule/p' out
mm, M = 8, K = 8, N = 8
  certificate  {{.*; no implementation in this space can beat .*; gap .* %}}
  trials       {{\d+ in .* s \(\d+/s\): .*}}
  schedule
$ head -1 t.jsonl
{"def": "mm", "sizes": {"M": 8, "K": 8, "N": 8}, "strategy": "auto", "seed": 0, "trial": 0, "at": {{.*}}, "state": "timed", {{.*}}, "best": true, "schedule": {{.*}}}
$ head -c 4 b.svg; tail -1 b.svg
<svg</svg>
$ loopwright run mm.tc --size M=8,K=8,N=8 --schedule w.lws > ran
$ XDG_CACHE_HOME=%/c loopwright tune two.tc --size N=64 --size N=96 --trials 12 --seconds 9 --db none --strategy random,genetic --repeat 2 --quiet --json > j
$ python3 -c "import json; t = json.load(open('j'))['tunings']; print([(x['def'], x['sizes'], [(s['strategy'], s['runs']) for s in x['strategies']]) for x in t][1::2])"
[('twice', {'N': 96}, [('random', 2), ('genetic', 2)]), ('sum', {'N': 96}, [('random', 2), ('genetic', 2)])]
$ loopwright tune @/examples/tc/cumsum.tc --size T=9,N=70 --threads 1 --trials 40 --db steps.db --quiet | grep -o 'certificate\|kept in the database'
certificate
kept in the database
$ loopwright show @/examples/tc/cumsum.tc --size T=9,N=70 --threads 1 --db steps.db --stage schedule | grep -o '^# tuned'
# tuned
$ loopwright run @/examples/tc/cumsum.tc --size T=9,N=70 --threads 1 --db steps.db --check | grep check
  check    right: bit for bit, against the interpreter
