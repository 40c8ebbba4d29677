package cases

import (
	"math"
	"math/bits"

	"github.com/gokiln/kiln/compiler/front/internal/cases/geom"
	"github.com/gokiln/kiln/dsl"
)

// Closures has function literals: captured variables read and written, passed
// on, returned, nested.
//
//kiln:kernel
func Closures(t dsl.Thread, out, in []float32) {
	n := 0
	count := func() { n++ }
	count()
	count()
	out[0] = float32(n)
	scale := in[0]
	f := func(x float32) float32 { return x * scale }
	g := func(x float32) float32 { return f(x) + f(1) }
	out[1] = apply(g, in[1])
	out[2] = adder(in[2])(in[3]) + compose(f, g)(2)
	s := float32(0)
	each(in, func(x float32) {
		s += x
		each(in[:2], func(y float32) { s -= y })
	})
	out[3] = s
	for i := range 3 {
		func() { out[4] += float32(i) }()
	}
	out[5] = reduce(in, max32) + reduce(in, func(a, b float32) float32 { return min(a, b) })
	row := in
	next := func() float32 {
		x := row[0]
		row = row[1:]
		return x
	}
	out[6] = next() + 10*next()
	//lint:ignore S1021 a function variable that is set later is what is tested
	var late func(float32) float32
	late = f
	out[7] = late(2)
	o := ops{one: f, two: max32}
	p := o
	fs := [2]func(float32) float32{f, p.one}
	out[8] = o.both(1, 2) + p.two(3, 4) + fs[1](5)
}

type ops struct {
	one func(float32) float32
	two func(a, b float32) float32
}

func (o *ops) both(a, b float32) float32 { return o.two(o.one(a), b) }

func apply[T any](f func(T) T, x T) T { return f(f(x)) }

func adder(x float32) func(float32) float32 { return func(y float32) float32 { return x + y } }

func compose(f, g func(float32) float32) func(float32) float32 {
	return func(x float32) float32 { return g(f(x)) }
}

func max32(a, b float32) float32 { return max(a, b) }

func reduce[T dsl.Real](xs []T, f func(a, b T) T) T {
	r := xs[0]
	for _, x := range xs[1:] {
		r = f(r, x)
	}
	return r
}

// Ints has integer arithmetic at every width.
//
//kiln:kernel
func Ints[T dsl.Int | dsl.Uint](t dsl.Thread, out, in []T, n int, u uint8) {
	for i := t.Global(); i < len(in); i += t.GlobalSize() {
		x, y := in[i], in[len(in)-1-i]
		r := x*y + x - y
		r ^= x &^ y
		r += -x ^ ^y
		if y != 0 {
			r += x/y + x%y
		}
		r += x<<u + x>>u + x<<n&15 + x>>3
		if x < y || x >= y+1 {
			r |= 3
		}
		r += T(int8(x)) + T(uint8(y)) + T(int64(x)>>7) + T(uint16(x))
		out[i] = r + T(float32(x&31))
	}
}

// Floats has constants, conversions, exact functions and bits.
//
//kiln:kernel
func Floats[T dsl.Real](t dsl.Thread, out, in []T, n []int) {
	const third = 1.0 / 3
	for i := t.Global(); i < len(in); i += t.GlobalSize() {
		x := in[i]
		y := x*third + geom.Scale
		y += dsl.Sqrt(dsl.Abs(x)) - dsl.Floor(x) + dsl.Ceil(x)*dsl.Trunc(x) - dsl.RoundEven(x)
		y = dsl.FMA(y, x, -x) + dsl.Copysign(y, x) + dsl.Round(x)
		y += min(x, y, 2) - max(x, 1)
		y += dsl.Exp(x) + dsl.Sin(x)
		if dsl.IsNaN(y) || dsl.IsInf(y, 0) {
			y = -0.5
		}
		out[i] = y
		n[i] = int(x) + int(uint8(int(dsl.F64(x))))
	}
}

// Math has the functions of the standard library that kernels know.
//
//kiln:kernel
func Math(t dsl.Thread, out, in []float64, n []uint64) {
	i := t.Global()
	x, k := in[i], n[i]
	y := math.Sqrt(math.Abs(x)) + math.Floor(x) - math.Ceil(x) + math.Trunc(x) + math.RoundToEven(x)
	y += math.FMA(x, math.Pi, math.Copysign(math.E, x))
	if math.IsNaN(x) || math.IsInf(x, 1) || math.Signbit(x) || x == math.Inf(-1) {
		y += math.MaxFloat32
	}
	if math.IsNaN(math.NaN()) {
		y += float64(math.Float32frombits(math.Float32bits(float32(x)) ^ 1))
	}
	out[i] = math.Float64frombits(math.Float64bits(y) ^ 1)
	c := bits.LeadingZeros64(k) + bits.TrailingZeros32(uint32(k)) + bits.OnesCount64(k) + bits.Len32(uint32(k)) + bits.Len(uint(k))
	hi, lo := bits.Mul64(k, k)
	n[i] = uint64(c) + hi ^ bits.RotateLeft64(lo, -5) + uint64(bits.RotateLeft32(uint32(k), c)) + bits.UintSize
	sum, carry := bits.Add64(k, hi, k&1)
	diff, borrow := bits.Sub32(uint32(k), uint32(hi), 0)
	n[i] += sum ^ carry ^ uint64(diff)<<borrow ^ bits.Reverse64(k) + uint64(bits.Reverse16(uint16(k)))
	n[i] ^= bits.ReverseBytes64(k) + uint64(bits.ReverseBytes32(uint32(hi))) + uint64(bits.ReverseBytes16(uint16(k)))
	w := dsl.Permute(uint32(k), uint32(lo), 0x6420)
	n[i] += uint64(dsl.Dot4(w, uint32(k), 7)) + uint64(dsl.MulHi(int32(w), 12345))
}

// Geom uses types, methods and constants of another kernel package.
//
//kiln:kernel
func Geom(t dsl.Thread, out []float32, kind []uint8) {
	v := geom.Make[float32](1, 2)
	v.Grow(3)
	w := geom.Vec[float32]{X: 5}
	out[0] = v.Dot(w)
	kind[0] = uint8(geom.Square)
	if geom.Kind(kind[1]) == geom.Line {
		kind[0]++
	}
	kind[2] = geom.Many
}

// Block has shared memory, barriers, warp and block operations.
//
//kiln:kernel
func Block(t dsl.Thread, out, in []float32, votes []uint64) {
	tile := dsl.Shared[[64]float32](t)
	i := t.ThreadIndex()
	tile[i] = in[t.Global()]
	t.Sync()
	x := tile[t.BlockSize()-1-i]
	s := dsl.BlockSum(t, x) + dsl.BlockMax(t, -x)
	x = dsl.Shuffle(t, x, t.Lane()+1) + dsl.ShuffleUp(t, x, 2) - dsl.ShuffleDown(t, x, 3) + dsl.ShuffleXor(t, x, 1)
	x += dsl.WarpMin(t, x) + dsl.WarpScanSum(t, x) + dsl.BlockScanExclusive(t, x)
	x += dsl.F32(dsl.ShuffleXor(t, dsl.To[dsl.F16](x), 4))
	t.SyncWarp()
	if dsl.Any(t, x > 3) && !dsl.All(t, x > 3) {
		x++
	}
	out[t.Global()] = x + s + float32(t.Warp())
	votes[t.Global()] = dsl.Ballot(t, x > 0)
}

// Atomics has all atomic operations.
//
//kiln:kernel
func Atomics(t dsl.Thread, f []float32, d []float64, n []int32, u []uint64, h []dsl.F16, b []dsl.BF16) {
	i := t.Global()
	dsl.AtomicAdd(&f[0], float32(i))
	dsl.AtomicMax(&f[1], float32(i))
	dsl.AtomicMin(&d[0], -float64(i))
	dsl.AtomicAdd(&d[1], 1)
	dsl.AtomicAdd(&n[0], int32(i))
	dsl.AtomicMax(&n[1], int32(i))
	dsl.AtomicMin(&n[2], int32(-i))
	dsl.AtomicAnd(&u[0], ^(uint64(1) << i))
	dsl.AtomicOr(&u[1], 1<<i)
	dsl.AtomicXor(&u[2], 3<<i)
	count := dsl.Shared[int32](t)
	if t.ThreadX() == 0 {
		*count = 0
	}
	t.Sync()
	dsl.AtomicAdd(count, 2)
	t.Sync()
	if t.ThreadX() == 0 {
		dsl.AtomicExch(&n[3], *count)
	}
	dsl.AtomicCAS(&n[4+i&3], 0, int32(i&3))
	dsl.AtomicStore(&d[2+i], dsl.AtomicLoad(&d[1]))
	dsl.Fence()
	dsl.AtomicAdd(&h[0], dsl.To[dsl.F16](1))
	dsl.AtomicAdd(&b[0], dsl.To[dsl.BF16](1))
	dsl.FenceBlock()
}

// Copies has copies to shared memory that are waited for.
//
//kiln:kernel
func Copies(t dsl.Thread, out, x []float32, h []dsl.BF16) {
	i := t.ThreadX()
	tile := dsl.Shared[[64][2]float32](t)
	half := dsl.Shared[[64]dsl.BF16](t)
	for k := range 2 {
		dsl.CopyAsync(&tile[i][k], &x[2*i+k])
	}
	dsl.CopyAsync(&half[i], &h[i])
	dsl.CopyWait()
	t.Sync()
	out[i] = tile[63-i][1] - tile[i][0] + dsl.F32(half[63-i])
}

// CopiedVectors has copies of vectors in groups, some of them of zeros.
//
//kiln:kernel
func CopiedVectors(t dsl.Thread, out, x []float32, n int) {
	i := t.ThreadX()
	tile := dsl.Shared[[2][256]float32](t)
	dsl.CopyVecAsync[[4]float32](tile[0][:], i, x, i)
	dsl.CopyCommit()
	dsl.CopyVecAsyncOrZero[[4]float32](tile[1][:], 63-i, x, i-8, i >= 8 && i < n)
	dsl.CopyCommit()
	dsl.CopyWaitGroups(1)
	t.Sync()
	out[i] = tile[0][255-i]
	dsl.CopyWaitGroups(0)
	t.Sync()
	out[i] += tile[1][i] - tile[1][255-i]
}

// Halves has the storage types.
//
//kiln:kernel
func Halves(t dsl.Thread, h []dsl.F16, b []dsl.BF16, x []float32) {
	for i := t.Global(); i < len(x); i += t.GlobalSize() {
		v := x[i]
		x[i] = dsl.F32(h[i]) + float32(dsl.F64(b[i])) + h[i].Float32()
		h[i], b[i] = dsl.To[dsl.F16](v), dsl.To[dsl.BF16](v*1.001)
		if uint16(h[i]) == 0x3C00 || b[i].Bits()&1 == 1 {
			h[i] = dsl.F16(0x7BFF)
		}
		var pick [2]dsl.F16
		pick[i&1] = h[i]
		if i%3 == 0 {
			h[i] = pick[0]
		}
	}
}

// Eights has the 8-bit floating-point types.
//
//kiln:kernel
func Eights(t dsl.Thread, a []dsl.F8E4M3, b []dsl.F8E5M2, x []float32) {
	for i := t.Global(); i < len(x); i += t.GlobalSize() {
		v := x[i]
		x[i] = dsl.F32(a[i]) + float32(dsl.F64(b[i]))
		a[i], b[i] = dsl.To[dsl.F8E4M3](v), dsl.To[dsl.F8E5M2](v*1.1)
		if a[i].Bits()&1 == 1 {
			a[i] = dsl.F8E4M3(b[i])
		}
	}
}

type ring struct {
	data [4]int
	head int
}

func (r *ring) push(x int) (old int, full bool) {
	old = r.data[r.head&3]
	full = r.head >= 4
	r.data[r.head&3] = x
	r.head++
	return
}

func divmod(a, b int) (q, r int) { return a / b, a % b }

// Results has several results, named results and pointer results.
//
//kiln:kernel
func Results(t dsl.Thread, out, in []int, on bool, scale float64) {
	var r ring
	for _, x := range in {
		if old, full := r.push(x); full {
			out[0] += old
		}
	}
	q, _ := divmod(in[0], 3)
	_, m := divmod(in[1]+7, 4)
	out[1] = q*10 + m
	*first(out[2:], on) = 5
	*slot(&r, 2) = 9
	out[4] = r.data[2] + int(scale*float64(r.head))
	if on != (in[0] > 3) {
		out[5] = 1
	}
	out[6] = int(kinds(2)) + endless(3)
}

func first(x []int, second bool) *int {
	if second {
		x = x[1:]
	}
	return &x[0]
}

func slot(r *ring, i int) *int { return &r.data[i] }

func kinds(n int) geom.Kind {
	switch n {
	case 1:
		return geom.Point
	case 2:
		return geom.Line
	}
	return geom.Square
}

func endless(n int) int {
	for {
		n *= 2
		if n > 100 {
			return n
		}
	}
}

// LoopVars has three-clause loops whose variables are captured, and pointed to:
// each iteration has its own.
//
//kiln:kernel
func LoopVars(t dsl.Thread, out, in []int) {
	var a [4]int
	for i, n := 0, 10; i < 4; i, n = i+1, n-i {
		add := func(by int) { a[i] += by * n }
		add(in[i])
		if in[i]&1 == 0 {
			i++
			continue
		}
		p := &n
		*p += in[0] & 3
		add(1)
	}
	for i := (ring{}); i.head < 6; i.head += 2 {
		old, _ := i.push(in[i.head])
		out[i.head] = old + a[i.head&3] + i.data[0]
		for j := uint8(3); j < 200; j *= 3 {
			if func() bool { return int(j) > in[1] }() {
				break
			}
			out[i.head]++
		}
	}
}

type couple struct{ x, y int }

func (p *couple) inc() { p.x++ }

type holder struct {
	*couple
	k int
}

// PointerFields has structs that hold pointers to other structs, which lie in
// registers or in memory.
//
//kiln:kernel
func PointerFields(t dsl.Thread, out, in []int) {
	p := &couple{in[0], 2}
	h := holder{p, 3}
	h.inc()
	h.couple.y = in[1]
	out[0], out[1] = p.x, p.y+h.k
	var arr [4]couple
	for i := range arr {
		h := holder{&arr[i], i}
		h.x += in[i] + h.k
		same := h
		same.inc()
		sum := func() int { return same.x + same.y }
		out[2] += sum()
		arr[i].y = out[2]
		out[3] += h.y
	}
	var last holder
	for i := range 3 {
		last.couple = &arr[(in[4]+i)&3]
		last.inc()
	}
	out[4] = last.x
	for _, p := range arr {
		out[5] = out[5]*3 + p.x
	}
}

// Log has assertions and prints, in a helper function and a loop too.
//
//kiln:kernel
func Log[T dsl.Real](t dsl.Thread, x []T, n []int8) {
	i := t.Global()
	dsl.Assert(t, i < len(x), "one element for each thread")
	for j := range n {
		logged(t, j, n[j] > 3)
	}
	if x[i] < 0 {
		dsl.Printf(t, "%d: %v, 100%%\n", i, x[i])
	}
	x[i]++
	dsl.Printf(t, "done\n")
}

func logged[T dsl.Int](t dsl.Thread, j T, large bool) { dsl.Printf(t, "%d %t\n", j, large) }
