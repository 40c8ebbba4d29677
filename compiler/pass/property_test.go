package pass

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/gokiln/kiln/compiler/analysis"
	"github.com/gokiln/kiln/compiler/ir"
	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

type rapidPicker struct{ t *rapid.T }

func (p rapidPicker) intn(n int) int { return rapid.IntRange(0, n-1).Draw(p.t, "") }

type seedPicker struct{ *rand.Rand }

func (p seedPicker) intn(n int) int { return p.IntN(n) }

// inputs returns the arguments of a generated kernel.
func inputs(seed uint64) ([][]byte, []uint64) {
	out, in := make([]byte, 8*outLen), make([]byte, 4*8)
	for i := range 8 {
		binary.LittleEndian.PutUint32(in[4*i:], math.Float32bits(float32(i)*1.5-float32(seed%5)))
	}
	binary.LittleEndian.PutUint64(out, seed)
	halves := []byte("some bytes that are all different") // for the generator that has a third slice
	return [][]byte{out, in, halves[:16]}, []uint64{seed % 17, uint64(math.Float32bits(0.25))}
}

// checkSame runs before and after and compares what they leave behind.
func checkSame(t require.TestingT, before, after *ir.Module, text string) {
	for seed := range uint64(3) {
		slices, scalars := inputs(seed * 7)
		want := execute(before, slices, scalars)
		if want.Failure == "out of fuel" {
			continue
		}
		got := execute(after, slices, scalars)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("seed %d (-want +got)\n%s\nbefore\n%s\nafter\n%s", seed, diff, text, after)
			t.FailNow()
		}
	}
}

// reparse returns a copy of m; the text form is the copy's only source.
func reparse(t require.TestingT, m *ir.Module) *ir.Module {
	c, err := ir.Parse(m.String())
	require.NoError(t, err)
	return c
}

func checkModule(t require.TestingT, m *ir.Module, opt Options) {
	if err := ir.Verify(m); err != nil {
		t.Errorf("generator: %v\n%s", err, m)
		t.FailNow()
	}
	text := m.String()
	after := reparse(t, m)
	opt.Check = ir.Verify
	if err := Run(after, opt); err != nil {
		t.Errorf("%v\n%s\n%s", err, text, after)
		t.FailNow()
	}
	checkSame(t, m, after, text)
	opt.WarpSize = vectorLanes
	for _, run := range []func(*ir.Module, Options) error{RunVector, RunRows} {
		if err := run(after, opt); err != nil {
			t.Errorf("%v\n%s\n%s", err, text, after)
			t.FailNow()
		}
		checkSame(t, m, after, text)
	}
}

// variants are the option sets with which the compiler runs the passes, but for release: what fails
// must fail as before.
var variants = []Options{{Checked: true}, {Checked: true, WarpSize: 32, Narrow: true, SlowDiv: true}, {Checked: true, WarpSize: 32, Narrow: true, SlowDiv: true, Small: true}}

// TestMeaning compares random programs before and after all passes. Set
// KILN_SEED to run one program, KILN_PROGRAMS for how many.
func TestMeaning(t *testing.T) {
	n := 400
	if s := os.Getenv("KILN_PROGRAMS"); s != "" {
		n, _ = strconv.Atoi(s)
	}
	first := 0
	if s := os.Getenv("KILN_SEED"); s != "" {
		first, _ = strconv.Atoi(s)
		n = 1
	}
	for i := first; i < first+n; i++ {
		g := &gen{picker: seedPicker{rand.New(rand.NewPCG(uint64(i), 1))}}
		m := g.module()
		if i%2 == 1 {
			setFactors(m, g.picker)
		}
		checkModule(t, m, variants[i%len(variants)])
		if t.Failed() {
			t.Fatalf("KILN_SEED=%d", i)
		}
	}
}

// setFactors gives loops of m unroll factors.
func setFactors(m *ir.Module, p picker) {
	for _, f := range m.Funcs {
		for _, l := range analysis.Loops(f, analysis.InEdges(f)) {
			l.Header.Unroll.Times = []int{0, 1, 2, 3, 5, ir.UnrollFully}[p.intn(6)]
		}
	}
}

// vectorLanes is how many lanes the vectors have that the passes of [Vector] are tested for.
const vectorLanes = 8

// TestMeaningEach compares random programs before and after each pass alone.
func TestMeaningEach(t *testing.T) {
	for _, p := range slices.Concat(Passes, Vector) {
		if p.Name == "release" {
			continue // what fails with bounds checks is wild without
		}
		t.Run(p.Name, func(t *testing.T) {
			for i := range 40 {
				g := &gen{picker: seedPicker{rand.New(rand.NewPCG(uint64(i), 2))}}
				m := g.module()
				after := reparse(t, m)
				require.NoError(t, inlineModule(after, nil))
				opt := variants[i%len(variants)]
				if inVector(p.Name) {
					opt.WarpSize = vectorLanes
				}
				require.NoError(t, p.Run(after, &opt))
				require.NoError(t, ir.Verify(after), "program %d", i)
				checkSame(t, m, after, m.String())
			}
		})
	}
}

// TestMeaningRapid is TestMeaning with a generator that can shrink.
func TestMeaningRapid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		checkModule(t, (&gen{picker: rapidPicker{t}}).module(), variants[rapid.IntRange(0, len(variants)-1).Draw(t, "")])
	})
}

// TestUniformityHolds runs random programs for two threads of a block and
// compares all that the analysis says they share: how often they pass a block
// under uniform control, and every uniform value there. Global and shared memory
// keep their first contents, because the generator's programs race.
func TestUniformityHolds(t *testing.T) {
	pairs := []struct {
		level ir.Uniformity // what threads of the pair share at least
		geom  [2]map[ir.Op]uint64
	}{
		{ir.UniformWarp, [2]map[ir.Op]uint64{{ir.OpThread: 5, ir.OpLane: 5}, {ir.OpThread: 6, ir.OpLane: 6}}},
		{ir.UniformBlock, [2]map[ir.Op]uint64{{ir.OpThread: 0, ir.OpLane: 0}, {ir.OpThread: 33, ir.OpLane: 1, ir.OpWarp: 1}}},
	}
	compared := 0
	for i := range 300 {
		g := &gen{picker: seedPicker{rand.New(rand.NewPCG(uint64(i), 3))}, threads: true}
		m := g.module()
		require.NoError(t, inlineModule(m, nil))
		if i%2 == 1 {
			require.NoError(t, Run(m, Options{Checked: true, Disable: []string{"unroll", "ifconv"}}))
		}
		u, f := analysis.Uniformity(m), m.Kernel()
		for _, p := range pairs {
			a, b := traceOf(m, p.geom[0]), traceOf(m, p.geom[1])
			if a == nil || b == nil {
				continue
			}
			for _, blk := range f.Blocks {
				if u.Block(f, blk) > p.level {
					continue
				}
				for _, v := range append(blk.Params[:len(blk.Params):len(blk.Params)], blk.Instrs...) {
					x, y := a[v], b[v]
					require.Len(t, y, len(x), "program %d: times of %%%d in block %d\n%s", i, v.ID, blk.ID, f)
					if u.Value(f, v) <= p.level && !analysis.IsLocalPtr(v) {
						require.Equal(t, x, y, "program %d: values of %%%d (%s) in block %d\n%s", i, v.ID, v.Op, blk.ID, f)
						compared += len(x)
					}
				}
			}
		}
	}
	require.Greater(t, compared, 10_000)
}

// traceOf returns the values that a thread computes, nil if it fails.
func traceOf(m *ir.Module, geom map[ir.Op]uint64) map[*ir.Value][]uint64 {
	x := newMachine(m)
	for op, bits := range geom {
		x.geom[op] = bits
	}
	x.frozen = true
	trace := map[*ir.Value][]uint64{}
	x.trace = func(v *ir.Value, bits uint64) { trace[v] = append(trace[v], bits) }
	slices, scalars := inputs(4)
	if x.run(slices, scalars).Failure != "" {
		return nil
	}
	return trace
}
