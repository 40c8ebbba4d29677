package dsl_test

import (
	"flag"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/dsltest"
)

var (
	exhaustive = flag.Bool("exhaustive", false, "test all 2^32 arguments of each float32 function of one argument (minutes each)")
	only       = flag.String("only", "", "functions that -exhaustive takes, comma-separated; all if empty")
	journal    = flag.String("journal", "testdata/sweep.journal", "file in which -exhaustive notes how far it is")
	stride     = flag.Uint64("stride", 1<<12-3, "distance of the float32 arguments tested")
	points     = flag.Int("points", 600, "random float64 arguments tested for each function")
)

// unary is a function of one argument: in both widths, with its reference for
// float32 (float64 has bits to spare) and for float64.
type unary struct {
	name string
	f32  func(float32) float32
	f64  func(float64) float64
	ref  func(float64) float64
	big  func(bf) bf
	// in says where the reference is defined; wide is the scale of the random
	// arguments that matter most.
	in   func(float64) bool
	wide float64
	// whole says for which arguments an ulp is that of 1 if the result is smaller.
	whole func(float64) bool
}

// err32 is the error of the float32 form at x, in ulps.
func (u unary) err32(x float32) float64 {
	got, want := u.f32(x), u.ref(float64(x))
	if u.whole != nil && math.Abs(want) < 1 && u.whole(float64(x)) {
		return math.Abs(float64(got)-want) * 0x1p23
	}
	return ulps32(got, want)
}

// err64 is the error of the float64 form at x, in ulps.
func (u unary) err64(x float64) float64 {
	got, want := u.f64(x), u.big(fl(x))
	if u.whole != nil && want.MantExp(nil) <= 0 && u.whole(x) {
		d, _ := sub(fl(got), want).Float64()
		return math.Abs(d) * 0x1p52
	}
	return ulps64(got, want)
}

func anywhere(float64) bool   { return true }
func positive(x float64) bool { return x > 0 }
func unit(x float64) bool     { return math.Abs(x) <= 1 }
func within(lo, hi float64) func(float64) bool {
	return func(x float64) bool { return lo <= x && x <= hi }
}

var unaries = []unary{
	{"Exp", dsl.Exp[float32], dsl.Exp[float64], math.Exp, refExp, within(-800, 800), 300, nil},
	{"Exp2", dsl.Exp2[float32], dsl.Exp2[float64], math.Exp2, func(x bf) bf { return refExp(mul(x, refLn2)) }, within(-1200, 1200), 300, nil},
	{"Expm1", dsl.Expm1[float32], dsl.Expm1[float64], math.Expm1, refExpm1, within(-800, 800), 3, nil},
	{"Log", dsl.Log[float32], dsl.Log[float64], logRef, refLog, positive, 1, nil},
	{"Log2", dsl.Log2[float32], dsl.Log2[float64], func(x float64) float64 { return logRef(x) / math.Ln2 }, func(x bf) bf { return quo(refLog(x), refLn2) }, positive, 1, nil},
	{"Log10", dsl.Log10[float32], dsl.Log10[float64], func(x float64) float64 { return logRef(x) / math.Ln10 }, func(x bf) bf { return quo(refLog(x), refLog(fl(10))) }, positive, 1, nil},
	{"Log1p", dsl.Log1p[float32], dsl.Log1p[float64], math.Log1p, refLog1p, func(x float64) bool { return x > -1 }, 1, nil},
	{"Sin", dsl.Sin[float32], dsl.Sin[float64], math.Sin, refSin, anywhere, 10, nil},
	{"Cos", dsl.Cos[float32], dsl.Cos[float64], math.Cos, refCos, anywhere, 10, nil},
	{"Tan", dsl.Tan[float32], dsl.Tan[float64], math.Tan, refTan, anywhere, 10, nil},
	{"Sinh", dsl.Sinh[float32], dsl.Sinh[float64], math.Sinh, refSinh, within(-800, 800), 3, nil},
	{"Cosh", dsl.Cosh[float32], dsl.Cosh[float64], math.Cosh, refCosh, within(-800, 800), 3, nil},
	{"Tanh", dsl.Tanh[float32], dsl.Tanh[float64], math.Tanh, refTanh, anywhere, 1, nil},
	{"Asin", dsl.Asin[float32], dsl.Asin[float64], math.Asin, refAsin, unit, 0.4, nil},
	{"Acos", dsl.Acos[float32], dsl.Acos[float64], acosRef, refAcos, unit, 0.4, nil},
	{"Atan", dsl.Atan[float32], dsl.Atan[float64], math.Atan, refAtan, anywhere, 1, nil},
	{"Erf", dsl.Erf[float32], dsl.Erf[float64], math.Erf, refErf, anywhere, 1, nil},
	{"Erfc", dsl.Erfc[float32], dsl.Erfc[float64], math.Erfc, refErfc, within(-30, 30), 4, nil},
	{"Rsqrt", dsl.Rsqrt[float32], dsl.Rsqrt[float64], func(x float64) float64 { return 1 / math.Sqrt(x) }, refRsqrt, positive, 1, nil},
	{"Cbrt", dsl.Cbrt[float32], dsl.Cbrt[float64], math.Cbrt, refCbrt, anywhere, 1, nil},
	{"Lgamma", dsl.Lgamma[float32], dsl.Lgamma[float64], lgammaRef, refLgamma, func(x float64) bool { return x > -100 && x != math.Trunc(x) }, 4, within(-math.MaxFloat64, -2)},
}

// logRef exists because the logarithm of the standard library is off for
// subnormal arguments on some machines; float32 needs none of them.
func logRef(x float64) float64 { return math.Log(x) }

// acosRef is accurate near one, where math.Acos subtracts from π/2.
func acosRef(x float64) float64 { return 2 * math.Atan2(math.Sqrt(1-x), math.Sqrt(1+x)) }

// lgammaRef is math.Lgamma without the sign of the gamma function.
func lgammaRef(x float64) float64 { y, _ := math.Lgamma(x); return y }

type binary struct {
	name string
	f32  func(x, y float32) float32
	f64  func(x, y float64) float64
	big  func(x, y bf) bf
}

var binaries = []binary{
	{"Atan2", dsl.Atan2[float32], dsl.Atan2[float64], refAtan2},
	{"Pow", dsl.Pow[float32], dsl.Pow[float64], refPow},
	{"Hypot", dsl.Hypot[float32], dsl.Hypot[float64], refHypot},
}

func bound(t *testing.T, name string) dsltest.MathBound {
	t.Helper()
	for _, b := range dsltest.MathBounds() {
		if b.Name == name {
			return b
		}
	}
	t.Fatalf("no bound is stated for %s", name)
	return dsltest.MathBound{}
}

// ulps32 is the error of got in float32 ulps of want.
func ulps32(got float32, want float64) float64 {
	const overflow = 0x1.ffffffp127 // rounds to infinity
	g := float64(got)
	if e := math.Float64bits(want) >> 52 & 0x7FF; e >= 1023-126 && e < 1023+127 && !math.IsInf(g, 0) { // quick for most
		return math.Abs(g-want) * math.Float64frombits((2*1023+23-e)<<52)
	}
	switch {
	case want != want || g != g:
		if want != want && g != g {
			return 0
		}
		return math.Inf(1)
	case math.Abs(want) >= overflow || math.IsInf(g, 0):
		if float64(float32(want)) == g {
			return 0
		}
		// The neighbour of the limit counts as one step past the largest number.
		if math.IsInf(g, 0) && math.Abs(want) > math.MaxFloat32 && g*want > 0 {
			return 1
		}
		if math.Abs(g) == math.MaxFloat32 && math.Abs(want) < 0x1.000001p128 && g*want > 0 {
			return 1
		}
		return math.Inf(1)
	}
	_, e := math.Frexp(want)
	if want == 0 {
		e = -200
	}
	return math.Abs(g-want) / math.Ldexp(1, max(e-24, -149))
}

func sweep32(u unary, step uint64) (worst float64, at float32) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	parts := uint64(runtime.GOMAXPROCS(0))
	for part := range parts {
		wg.Go(func() {
			w, a := 0.0, float32(0)
			for i := part * step; i < 1<<32; i += parts * step {
				x := math.Float32frombits(uint32(i))
				if e := u.err32(x); e > w {
					w, a = e, x
				}
			}
			mu.Lock()
			if w > worst {
				worst, at = w, a
			}
			mu.Unlock()
		})
	}
	wg.Wait()
	return worst, at
}

func TestFloat32Accuracy(t *testing.T) {
	for _, u := range unaries {
		t.Run(u.name, func(t *testing.T) {
			worst, at := sweep32(u, *stride)
			for _, x := range edges32() {
				if e := u.err32(x); e > worst {
					worst, at = e, x
				}
			}
			t.Logf("%s %.3f ulp at %g (%#08x)", u.name, worst, at, math.Float32bits(at))
			if *update {
				keep(t, record{u.name, 32, all32 / *stride, worst, fmt.Sprintf("%#08x", math.Float32bits(at)), u.print32()})
			}
			if b := bound(t, u.name).F32; worst > b {
				t.Errorf("%s(%g) is off by %.3f ulp, stated are %g", u.name, at, worst, b)
			}
		})
	}
}

// edges32 are powers of two, the ends of the ranges, and their neighbours.
func edges32() []float32 {
	list := []float32{0, math.MaxFloat32, math.SmallestNonzeroFloat32, 1, 0.5, math.Pi, math.Pi / 2, math.Pi / 4, math.Ln2, math.Ln2 / 2, math.Sqrt2, math.Sqrt2 / 2, 0.55, 0.75, 4, 10.2, 88.72284, 103.97208, 17.5, 65536}
	for e := -149; e < 128; e++ {
		list = append(list, float32(math.Ldexp(1, e)))
	}
	for n := 1; n < 200; n++ {
		list = append(list, float32(n)*math.Pi/4, float32(n))
	}
	for _, x := range list[:len(list):len(list)] {
		inf := float32(math.Inf(1))
		list = append(list, math.Nextafter32(x, inf), math.Nextafter32(x, -inf))
	}
	for _, x := range list[:len(list):len(list)] {
		list = append(list, -x)
	}
	return append(list, float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN()))
}

// ulps64 is the error of got in float64 ulps of want.
func ulps64(got float64, want bf) float64 {
	const top = math.MaxFloat64
	if math.IsInf(got, 0) || math.IsNaN(got) {
		w, _ := want.Float64()
		if w == got {
			return 0
		}
		if math.IsInf(got, 0) && math.Abs(w) == top && (w > 0) == (got > 0) {
			return 1
		}
		return math.Inf(1)
	}
	if want.Sign() == 0 {
		return math.Abs(got) / math.SmallestNonzeroFloat64
	}
	d := sub(fl(got), want)
	e := max(want.MantExp(nil)-53, -1074)
	x, _ := new(big.Float).SetMantExp(d, -e).Float64()
	return math.Abs(x)
}

func edges64() []float64 {
	list := []float64{math.MaxFloat64, 0x1p-1022, math.SmallestNonzeroFloat64, 5e-324 * 12345, 1, 0.5, math.Pi, math.Pi / 2, math.Pi / 4, math.Ln2, math.Ln2 / 2, math.Sqrt2, math.Sqrt2 / 2,
		0.55, 0.75, 6, 26.5, 27.2, 709.78, 745.1, 710.4, 38, 44, 1 << 20, 6381956970095103 * 0x1p797, 1e22, 1e300}
	for e := -1074; e < 1024; e += 37 {
		list = append(list, math.Ldexp(1, e))
	}
	for n := 1; n < 40; n++ {
		list = append(list, float64(n)*math.Pi/4, float64(n))
	}
	for _, x := range list[:len(list):len(list)] {
		list = append(list, math.Nextafter(x, math.Inf(1)), math.Nextafter(x, math.Inf(-1)))
	}
	for _, x := range list[:len(list):len(list)] {
		list = append(list, -x)
	}
	return list
}

// args64 are the float64 arguments at which u is tested.
func args64(u unary, points int) []float64 {
	r := rand.New(rand.NewPCG(1, 2))
	args := edges64()
	for range points {
		args = append(args, r.NormFloat64()*u.wide, 1+r.NormFloat64()*u.wide/64, (r.Float64()*2-1)*u.wide*2.5, math.Float64frombits(r.Uint64()))
	}
	return args
}

var recording sync.Mutex

// measured keeps r, one at a time.
func measured(t *testing.T, r record) {
	recording.Lock()
	defer recording.Unlock()
	keep(t, r)
}

func TestFloat64Accuracy(t *testing.T) {
	for _, u := range unaries {
		t.Run(u.name, func(t *testing.T) {
			t.Parallel()
			worst, at, n := 0.0, 0.0, uint64(0)
			for _, x := range args64(u, *points) {
				if math.IsNaN(x) || math.IsInf(x, 0) || !u.in(x) {
					continue
				}
				n++
				if e := u.err64(x); e > worst {
					worst, at = e, x
				}
			}
			t.Logf("%s %.3f ulp at %g (%x)", u.name, worst, at, at)
			if *update {
				measured(t, record{u.name, 64, n, worst, fmt.Sprintf("%#016x", math.Float64bits(at)), u.print64()})
			}
			if b := bound(t, u.name).F64; worst > b {
				t.Errorf("%s(%g) is off by %.3f ulp, stated are %g", u.name, at, worst, b)
			}
		})
	}
}

// pairs gives arguments of the functions of two: random bits, moderate numbers,
// and for powers those near overflow and underflow.
func pairs(r *rand.Rand, n int) [][2]float64 {
	var list [][2]float64
	for range n {
		x, y := math.Exp(r.NormFloat64()*3), r.NormFloat64()*10
		near := 1 + r.NormFloat64()/1024
		list = append(list,
			[2]float64{x, y}, [2]float64{-x, math.Round(y)}, [2]float64{y, x}, [2]float64{y, -x},
			[2]float64{near, r.NormFloat64() * 1e5}, [2]float64{near, near},
			[2]float64{x, (r.Float64()*2 - 1) * 745 / math.Abs(math.Log(x))},
			[2]float64{x, (r.Float64()*2 - 1) * 103 / math.Abs(math.Log(x))},
			[2]float64{math.Float64frombits(r.Uint64()), math.Float64frombits(r.Uint64())},
			[2]float64{float64(math.Float32frombits(r.Uint32())), float64(math.Float32frombits(r.Uint32()))})
	}
	return list
}

// finite reports whether the big reference takes the pair.
func finite(name string, x, y float64) bool {
	if x == 0 || y == 0 || x-x != 0 || y-y != 0 {
		return false
	}
	if name != "Pow" {
		return true
	}
	return (x > 0 || y == math.Trunc(y)) && math.Abs(y*math.Log(math.Abs(x))) < 1000
}

func TestBinaryAccuracy(t *testing.T) {
	for _, b := range binaries {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			worst32, worst64, n := 0.0, 0.0, uint64(0)
			var at32, at64 [2]float64
			for _, p := range pairs(rand.New(rand.NewPCG(3, 4)), *points) {
				x, y := p[0], p[1]
				if !finite(b.name, x, y) {
					continue
				}
				n++
				if e := ulps64(b.f64(x, y), b.big(fl(x), fl(y))); e > worst64 {
					worst64, at64 = e, p
				}
				a, c := float32(x), float32(y)
				if !finite(b.name, float64(a), float64(c)) {
					continue
				}
				want, _ := b.big(fl(float64(a)), fl(float64(c))).Float64()
				if e := ulps32(b.f32(a, c), want); e > worst32 {
					worst32, at32 = e, p
				}
			}
			t.Logf("%s float32 %.3f ulp at %g, float64 %.3f ulp at %g", b.name, worst32, at32, worst64, at64)
			if *update {
				at := func(p [2]float64) string {
					return fmt.Sprintf("%#016x,%#016x", math.Float64bits(p[0]), math.Float64bits(p[1]))
				}
				measured(t, record{b.name, 32, n, worst32, at(at32), b.print32()})
				measured(t, record{b.name, 64, n, worst64, at(at64), b.print64()})
			}
			if s := bound(t, b.name); worst32 > s.F32 || worst64 > s.F64 {
				t.Errorf("float32 %.3f ulp at %g, float64 %.3f ulp at %g; stated are %g and %g", worst32, at32, worst64, at64, s.F32, s.F64)
			}
		})
	}
}

// TestTwoOverPi computes the digits of 2/π that the reduction of large arguments takes from tables.
func TestTwoOverPi(t *testing.T) {
	quotient := new(big.Float).SetPrec(piPrec).Quo(fl(2), refPi)
	digit := func(i, size int) uint64 {
		n, _ := new(big.Float).SetMantExp(quotient, i*size).Int(nil)
		return n.And(n, new(big.Int).SetUint64(math.MaxUint64>>(64-size))).Uint64()
	}
	for i := range 20 {
		if got, want := dsl.TwoOverPi64(int32(i)), digit(i, 64); got != want {
			t.Errorf("word %d of 64 bits is %#x, want %#x", i, got, want)
		}
	}
	for i := range 8 {
		if got, want := uint64(dsl.TwoOverPi32(int32(i))), digit(i, 32); got != want {
			t.Errorf("word %d of 32 bits is %#x, want %#x", i, got, want)
		}
	}
}
