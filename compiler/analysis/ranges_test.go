package analysis_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/analysis"
	"github.com/gokiln/kiln/compiler/ir"
)

// wholeRange is what is known of a number of 64 bits that may be anything.
var wholeRange = analysis.Interval{Lo: math.MinInt64, Hi: math.MaxInt64}

// TestRanges has values that a kernel stores, and their ranges there.
func TestRanges(t *testing.T) {
	const head = `kernel @k(%0: ptr<global,i64>, %1: i64, %2: ptr<global,u64>, %3: i64) args(x slice i64 "[]int", y slice u64 "[]uint64") {
b0:
  %4 = thread 0 : i64
  %5 = thread 1 : i64
  %6 = thread 2 : i64
  %7 = const 5 : i64
  %8 = const 100 : i64
`
	thread := analysis.Interval{Lo: 0, Hi: 1<<16 - 1}
	tests := []struct {
		name, body string
		want       analysis.Interval
	}{
		{"thread", "store %0, %4\n ret\n", thread},
		{"signed difference", "%9 = sub %4, %7 : i64\n store %0, %9\n ret\n", analysis.Interval{Lo: -5, Hi: thread.Hi - 5}},
		{"unsigned difference", "%9 = convert %4 : u64\n %10 = const 70000 : u64\n %11 = sub %10, %9 : u64\n store %2, %11\n ret\n",
			analysis.Interval{Lo: 70000 - thread.Hi, Hi: 70000}},
		{"unsigned difference below zero", "%9 = convert %4 : u64\n %10 = const 5 : u64\n %11 = sub %9, %10 : u64\n store %2, %11\n ret\n", wholeRange},
		{"first part of a sum in a test", "%9 = add %4, %5 : i64\n %10 = le %9, %8 : bool\n br %10, b1, b2\nb1:\n store %0, %4\n jump b2\nb2:\n ret\n",
			analysis.Interval{Lo: 0, Hi: 100}},
		{"second part of a sum in a test", "%9 = add %5, %4 : i64\n %10 = ge %8, %9 : bool\n br %10, b1, b2\nb1:\n store %0, %4\n jump b2\nb2:\n ret\n",
			analysis.Interval{Lo: 0, Hi: 100}},
		{"no part of a sum in a test", "%9 = add %5, %6 : i64\n %10 = le %9, %8 : bool\n br %10, b1, b2\nb1:\n store %0, %4\n jump b2\nb2:\n ret\n", thread},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := parse(t, head+"  "+tt.body+"}\n").Funcs[0]
			for _, b := range f.Blocks {
				for _, v := range b.Instrs {
					if v.Op == ir.OpStore {
						require.Equal(t, tt.want, analysis.NewRanges(f, false).At(v.Args[1], b))
					}
				}
			}
		})
	}
}

// TestRangesOfManyLoops: where the loops of a function are too many to look at each again, those
// that are left have no range, rather than that of their first turn.
func TestRangesOfManyLoops(t *testing.T) {
	const loops = 100
	var text strings.Builder
	text.WriteString("kernel @k(%0: ptr<global,i64>, %1: i64) args(x slice i64 \"[]int\") {\nb0:\n  %2 = const 0 : i64\n  jump b1(%2)\n")
	for i := range loops {
		p := 3 + 3*i
		fmt.Fprintf(&text, "b%d(%%%d: i64):\n  %%%d = load %%0 : i64\n  %%%d = ne %%%d, %%1 : bool\n  br %%%d, b%[1]d(%%%[3]d), b%[7]d\n", 2*i+1, p, p+1, p+2, p+1, p+2, 2*i+2)
		fmt.Fprintf(&text, "b%d:\n  jump b%d(%%2)\n", 2*i+2, 2*i+3)
	}
	fmt.Fprintf(&text, "b%d(%%%d: i64):\n  ret\n}\n", 2*loops+1, 3+3*loops)
	f := parse(t, text.String()).Funcs[0]
	r := analysis.NewRanges(f, false)
	require.Len(t, r.Loops, loops)
	for _, l := range r.Loops {
		require.Equal(t, wholeRange, r.Of(l.Header.Params[0]))
	}
}

// TestRangesOfLaterBlocks: a pass may add blocks and values while it uses the ranges that it has,
// which say nothing of them.
func TestRangesOfLaterBlocks(t *testing.T) {
	f := parse(t, `kernel @k(%0: ptr<global,i64>, %1: i64) args(x slice i64 "[]int") {
b0:
  %2 = const 0 : i64
  %3 = const 1 : i64
  jump b1(%2)
b1(%4: i64):
  %5 = add %4, %3 : i64
  %6 = lt %5, %1 : bool
  br %6, b1(%5), b2
b2:
  ret
}`).Funcs[0]
	r := analysis.NewRanges(f, false)
	header := f.Blocks[1]
	p, one := header.Params[0], header.Instrs[0].Args[1]
	sum := f.NewBlock().Emit(f, ir.OpAdd, ir.I64, p, one)
	header.Term.Succs[0].Args[0] = sum
	require.Equal(t, wholeRange, r.Of(sum))
	require.Equal(t, wholeRange, r.Of(p))
}
