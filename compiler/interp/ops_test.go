package interp

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/ir"
)

// samples returns bits worth trying for a type: limits, zeros, NaN, ties, and
// random values of all sizes.
func samples(t *ir.Type, n int) []uint64 {
	rng := rand.New(rand.NewPCG(uint64(t.Kind), 1))
	var s []uint64
	switch {
	case t == ir.F32:
		for _, x := range []float64{0, math.Copysign(0, -1), 1, -1, 0.5, 1.5, 2.5, -2.5, 1e-45, -1e-40, 3.4e38, -3.4e38, math.Inf(1), math.Inf(-1),
			math.NaN(), 16777217, 2147483648, -2147483648, 4294967296, 9.3e18, -9.3e18, 1.9e19, 65504, 65520, 127.5, 255.9, -0.9, 1e-7, 3.1, 100} {
			s = append(s, uint64(math.Float32bits(float32(x))))
		}
	case t == ir.F64:
		for _, x := range []float64{0, math.Copysign(0, -1), 1, -1, 0.5, 1.5, 2.5, -2.5, 5e-324, -1e-310, 1.7e308, -1.7e308, math.Inf(1), math.Inf(-1),
			math.NaN(), 9007199254740993, 2147483648, -2147483649, 4294967296, 9.3e18, -9.3e18, 1.9e19, 65519.99, 65520, 1 + 0x1p-24, 1 + 0x1p-24 + 0x1p-50, -0.9, 6e-8, 3.39e38, 3.5e38} {
			s = append(s, math.Float64bits(x))
		}
	case t == ir.Bool:
		s = []uint64{0, 1}
	default:
		w := t.Bits()
		for _, x := range []uint64{0, 1, 2, 3, 7, 31, 32, 63, 64, 100, 255, 256, 1 << 11, 1<<11 + 1, 1<<24 + 1, 1<<25 + 3, 1<<53 + 1, 1<<54 + 3, 1<<63 + 1<<10 + 1} {
			s = append(s, x, -x, x<<(w-1), 1<<(w-1)-x)
		}
	}
	for len(s) < n {
		x := rng.Uint64() >> rng.IntN(64)
		if t == ir.F32 && rng.IntN(2) == 0 {
			x = uint64(math.Float32bits(float32(rng.NormFloat64() * math.Exp(rng.NormFloat64()*8))))
		}
		if t == ir.F64 && rng.IntN(2) == 0 {
			x = math.Float64bits(rng.NormFloat64() * math.Exp(rng.NormFloat64()*20))
		}
		s = append(s, x)
	}
	rng.Shuffle(len(s), func(i, j int) { s[i], s[j] = s[j], s[i] })
	for i := range s {
		s[i] = ir.Normalize(t, s[i])
	}
	return s
}

// store writes values of a type one after the other.
func memory(t *ir.Type, vals []uint64) []byte {
	b := make([]byte, len(vals)*t.Size()+8)
	for i, v := range vals {
		put(b[i*t.Size():], t, v)
	}
	return b
}

func put(b []byte, t *ir.Type, v uint64) {
	for k := range t.Size() {
		b[k] = byte(v >> (8 * k))
	}
}

func get(b []byte, t *ir.Type, i int) uint64 {
	var v uint64
	for k := range t.Size() {
		v |= uint64(b[i*t.Size()+k]) << (8 * k)
	}
	return ir.Normalize(t, v)
}

// opCase is an operation with its types.
type opCase struct {
	op   ir.Op
	t    *ir.Type
	args []*ir.Type
}

func (c opCase) String() string {
	names := make([]string, len(c.args))
	for i, a := range c.args {
		names[i] = a.String()
	}
	return fmt.Sprintf("%s %s -> %s", c.op, strings.Join(names, ","), c.t)
}

// opCases lists every pure operation on values with every type that it takes.
func opCases() []opCase {
	var cases []opCase
	for op := range ir.Ops {
		info := op.Info()
		if info.Effect != 0 || info.Args <= 0 {
			continue
		}
		for _, t := range ir.Scalars {
			for _, u := range ir.Scalars {
				if c, ok := opTypes(op, t, u); ok {
					cases = append(cases, c)
				}
			}
		}
	}
	return cases
}

// opTypes builds the case of result type t; u is the second type of operations
// that have one, and t again for others.
func opTypes(op ir.Op, t, u *ir.Type) (opCase, bool) {
	info := op.Info()
	c := opCase{op: op, t: t}
	for range info.Args {
		c.args = append(c.args, t)
	}
	ok := u == t
	switch info.Rule {
	case ir.RuleArith:
		ok = ok && (t.IsInt() || t.IsFloat())
	case ir.RuleInt:
		ok = ok && t.IsInt()
	case ir.RuleWord:
		ok = ok && t.IsInt() && t.Size() == 4
	case ir.RuleLogic:
		ok = ok && (t.IsInt() || t == ir.Bool)
	case ir.RuleFloat:
		ok = ok && t.IsFloat()
	case ir.RuleApprox:
		ok = ok && t == ir.F32
	case ir.RuleShift:
		ok = t.IsInt() && u.IsInt() && !u.IsSigned()
		c.args[1] = u
	case ir.RuleCompare, ir.RuleBoolArith:
		ok = t == ir.Bool && !u.IsHalf() && (u != ir.Bool || info.Rule == ir.RuleCompare)
		c.args = []*ir.Type{u, u}
	case ir.RuleConvert:
		ok = t != ir.Bool && u != ir.Bool
		c.args[0] = u
	case ir.RuleBitcast:
		ok = t != ir.Bool && u != ir.Bool && t.Size() == u.Size()
		c.args[0] = u
	case ir.RuleSelect:
		c.args[0] = ir.Bool
	default:
		ok = false
	}
	return c, ok
}

// kernel returns a kernel that applies the operation to elements of slices; the
// operands in scalars come from a scalar parameter in place of a slice.
func (c opCase) kernel(scalars int) string {
	var params, args, body strings.Builder
	names := make([]string, len(c.args))
	for i, t := range c.args {
		names[i] = fmt.Sprintf("%%v%d", i)
		if scalars>>i&1 != 0 {
			fmt.Fprintf(&params, ", %s: %s", names[i], t)
			fmt.Fprintf(&args, `, a%d scalar %s "x"`, i, t)
			continue
		}
		fmt.Fprintf(&params, ", %%p%d: ptr<global,%s>, %%n%d: i64", i, t, i)
		fmt.Fprintf(&args, `, a%d slice %s "x"`, i, t)
		fmt.Fprintf(&body, "  %%q%d = offset %%p%d, %%i : ptr<global,%s>\n  %%v%d = load %%q%d : %s\n", i, i, t, i, i, t)
	}
	return fmt.Sprintf(`module "m"
kernel @K(%%o: ptr<global,%[1]s>, %%on: i64%[2]s) args(o slice %[1]s "x"%[3]s) {
b0:%[4]s%[5]s
  %%r = %[6]s %[7]s : %[1]s
  %%q = offset %%o, %%i : ptr<global,%[1]s>
  store %%q, %%r
  ret
}
`, c.t, params.String(), args.String(), global, body.String(), c.op, strings.Join(names, ", "))
}

func (c opCase) check(t *testing.T, scalars int) {
	const n = 192
	p := load(t, c.kernel(scalars))
	vals := make([][]uint64, len(c.args))
	mem := make([][]byte, len(c.args))
	out := make([]byte, n*c.t.Size()+8)
	for i, a := range c.args {
		vals[i] = samples(a, n)[:n]
		// The same types must not give the same pairs.
		vals[i] = append(append([]uint64{}, vals[i][i*7:]...), vals[i][:i*7]...)
		mem[i] = memory(a, vals[i])
	}
	for round := range 1 + 2*min(scalars, 1) {
		args := pack(out)
		for i, a := range c.args {
			if scalars>>i&1 == 0 {
				for len(args)%8 != 0 {
					args = append(args, 0)
				}
				args = append(args, pack(mem[i])...)
				continue
			}
			for len(args)%a.Size() != 0 {
				args = append(args, 0)
			}
			args = append(args, mem[i][round*a.Size():][:a.Size()]...)
		}
		require.NoError(t, p.Run(Launch{Grid: [3]int{2}, Block: [3]int{n / 2}, Args: args}), c.String())
		for k := range n {
			x := make([]uint64, len(c.args))
			for i := range x {
				x[i] = vals[i][k]
				if scalars>>i&1 != 0 {
					x[i] = vals[i][round]
				}
			}
			want, ok := ir.Eval(c.op, c.t, 0, x, c.args)
			require.True(t, ok, c.String())
			if got := get(out, c.t, k); got != want && !(isNaN(c.t, got) && isNaN(c.t, want)) {
				t.Fatalf("%s, scalars %b, of %x: got %#x, want %#x", c, scalars, x, got, want)
			}
		}
	}
}

func isNaN(t *ir.Type, b uint64) bool {
	switch t {
	case ir.F32:
		return b&0x7FFFFFFF > 0x7F800000
	case ir.F64:
		return b&(1<<63-1) > 0x7FF<<52
	case ir.F16:
		return b&0x7FFF > 0x7C00
	case ir.BF16:
		return b&0x7FFF > 0x7F80
	}
	return false
}

func TestOps(t *testing.T) {
	for _, c := range opCases() {
		for scalars := range 1 << len(c.args) {
			c.check(t, scalars)
		}
	}
}

// TestEvalKern compares the loop over the reference, which serves operations
// without one of their own, with the loops of those that have one.
func TestEvalKern(t *testing.T) {
	const n = 100
	for _, c := range opCases() {
		if c.op.Info().Rule == ir.RuleShift {
			continue // the loops take counts that are widened first
		}
		v := &ir.Value{Op: c.op, Type: c.t}
		var in [3]unsafe.Pointer
		for i, a := range c.args {
			v.Args = append(v.Args, &ir.Value{Op: ir.OpParam, Type: a})
			in[i] = unsafe.Pointer(&memory(a, samples(a, n+7*i)[7*i:])[0])
		}
		own, swap := findKern(v, arrays)
		want, got := make([]byte, n*c.t.Size()+8), make([]byte, n*c.t.Size()+8)
		a, b := in[0], in[1]
		if swap {
			a, b = b, a
		}
		own(unsafe.Pointer(&want[0]), a, b, in[2], n)
		evalKern(v)(unsafe.Pointer(&got[0]), in[0], in[1], in[2], n)
		for i := range n {
			if w, g := get(want, c.t, i), get(got, c.t, i); w != g && !(isNaN(c.t, w) && isNaN(c.t, g)) {
				t.Fatalf("%s, lane %d: %#x by the reference, %#x by its own loop", c, i, g, w)
			}
		}
	}
}

// Sums whose float32 is the same by one rounding as by two take the fast path.
func TestRoundsTwice(t *testing.T) {
	for s, want := range map[float64]bool{
		0: false, 1: false, -1.5: false, 0x1p-126: false, -math.MaxFloat32: false,
		1 + 0x1p-24: true, -1 - 0x1p-24: true, 0x1p-127: true, math.Inf(-1): true, math.NaN(): true,
	} {
		require.Equal(t, want, roundsTwice(s), s)
	}
}
