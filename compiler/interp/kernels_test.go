package interp

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// polyKernel evaluates a polynomial of degree 8 by FMA, as the exponential does.
func polyKernel() string {
	var b strings.Builder
	b.WriteString(`
module "m"
kernel @Poly(%y: ptr<global,f32>, %yn: i64, %x: ptr<global,f32>, %xn: i64) args(y slice f32 "[]float32", x slice f32 "[]float32") {
b0:` + global + `
  %c = lt %i, %yn : bool
  br %c, b1, b2
b1:
  bounds %i, %xn
  %px = offset %x, %i : ptr<global,f32>
  %v = load %px : f32
  %k = const 1.4426951 : f32
  %m = mul %v, %k : f32
  %r = rint %m : f32
  %ln = const -0.6931472 : f32
  %z = fma %r, %ln, %v : f32
  %a8 = const 0.0000248 : f32
`)
	for d := 7; d >= 0; d-- {
		f := 1.0
		for k := 2; k <= d; k++ {
			f *= float64(k)
		}
		fmt.Fprintf(&b, "  %%k%d = const %v : f32\n  %%a%d = fma %%a%d, %%z, %%k%d : f32\n", d, float32(1/f)*1.0000001, d, d+1, d)
	}
	b.WriteString(`
  %e = convert %r : i32
  %bias = const 127 : i32
  %eb = add %e, %bias : i32
  %sh = const 23 : u32
  %es = shl %eb, %sh : i32
  %ef = bitcast %es : f32
  %res = mul %a0, %ef : f32
  %py = offset %y, %i : ptr<global,f32>
  store %py, %res
  jump b2
b2:
  ret
}
`)
	return b.String()
}

func TestPoly(t *testing.T) {
	p := load(t, polyKernel())
	x, y := make([]float32, 1000), make([]float32, 1000)
	for i := range x {
		x[i] = float32(i-500) / 20
	}
	run(t, p, 4, 256, y, x)
	for i := range x {
		require.InEpsilon(t, math.Exp(float64(x[i])), float64(y[i]), 1e-4)
	}
}

const blur = `
module "m"
kernel @Blur(%y: ptr<global,f32>, %yn: i64, %x: ptr<global,f32>, %xn: i64, %r: i64) args(y slice f32 "[]float32", x slice f32 "[]float32", r scalar i64 "int") {
b0:` + global + `
  %c = lt %i, %yn : bool
  br %c, b1, b6
b1:
  %z = const 0.0 : f32
  %lo = neg %r : i64
  jump b2(%lo, %z)
b2(%k: i64, %s: f32):
  %more = le %k, %r : bool
  br %more, b3, b5
b3:
  %j0 = add %i, %k : i64
  %zero = const 0 : i64
  %one = const 1 : i64
  %top = sub %xn, %one : i64
  %j1 = max %j0, %zero : i64
  %j = min %j1, %top : i64
  bounds %j, %xn
  %px = offset %x, %j : ptr<global,f32>
  %v = load %px : f32
  %s2 = add %s, %v : f32
  %k2 = add %k, %one : i64
  jump b2(%k2, %s2)
b5:
  %py = offset %y, %i : ptr<global,f32>
  store %py, %s
  jump b6
b6:
  ret
}
`

func TestBlur(t *testing.T) {
	p := load(t, blur)
	const n, r = 700, 3
	x, y := make([]float32, n), make([]float32, n)
	for i := range x {
		x[i] = float32(i % 17)
	}
	run(t, p, 3, 256, y, x, r)
	for i := range y {
		var want float32
		for k := -r; k <= r; k++ {
			want += x[min(max(i+k, 0), n-1)]
		}
		require.Equal(t, want, y[i], i)
	}
}

const histogram = `
module "m"
kernel @Histogram(%h: ptr<global,u32>, %hn: i64, %x: ptr<global,u8>, %xn: i64) args(h slice u32 "[]uint32", x slice u8 "[]byte") {
b0:` + global + `
  %gd = griddim 0 : i64
  %stride = mul %gd, %bd : i64
  %one = const 1 : u32
  jump b1(%i)
b1(%j: i64):
  %c = lt %j, %xn : bool
  br %c, b2, b3
b2:
  %px = offset %x, %j : ptr<global,u8>
  %v = load %px : u8
  %k = convert %v : i64
  bounds %k, %hn
  %ph = offset %h, %k : ptr<global,u32>
  %old = atomic.add %ph, %one : u32
  %next = add %j, %stride : i64
  jump b1(%next)
b3:
  ret
}
`

func TestHistogram(t *testing.T) {
	p := load(t, histogram)
	x, h, want := make([]byte, 50000), make([]uint32, 256), make([]uint32, 256)
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range x {
		x[i] = byte(rng.IntN(256))
		want[x[i]]++
	}
	run(t, p, 16, 128, h, x)
	require.Equal(t, want, h)
}

// reduce sums 256 elements a block through shared memory.
const reduce = `
module "m"
shared 0 "tile" [256]f32
kernel @Reduce(%y: ptr<global,f32>, %yn: i64, %x: ptr<global,f32>, %xn: i64) args(y slice f32 "[]float32", x slice f32 "[]float32") {
b0:` + global + `
  %tile = shared 0 : ptr<shared,[256]f32>
  %ps = index %tile, %t : ptr<shared,f32>
  %z = const 0.0 : f32
  store %ps, %z
  %c = lt %i, %xn : bool
  br %c, b1, b2
b1:
  %px = offset %x, %i : ptr<global,f32>
  %v = load %px : f32
  store %ps, %v
  jump b2
b2:
  barrier
  %half = const 128 : i64
  jump b3(%half)
b3(%d: i64):
  %zero = const 0 : i64
  %go = gt %d, %zero : bool
  br %go, b4, b7
b4:
  %low = lt %t, %d : bool
  br %low, b5, b6
b5:
  %td = add %t, %d : i64
  %pd = index %tile, %td : ptr<shared,f32>
  %vd = load %pd : f32
  %vs = load %ps : f32
  %sum = add %vs, %vd : f32
  store %ps, %sum
  jump b6
b6:
  barrier
  %one = const 1 : u64
  %d2 = shr %d, %one : i64
  jump b3(%d2)
b7:
  %first = eq %t, %zero : bool
  br %first, b8, b9
b8:
  %p0 = index %tile, %zero : ptr<shared,f32>
  %r = load %p0 : f32
  bounds %b, %yn
  %py = offset %y, %b : ptr<global,f32>
  store %py, %r
  jump b9
b9:
  ret
}
`

func TestReduce(t *testing.T) {
	p := load(t, reduce)
	x, y := make([]float32, 1000), make([]float32, 4)
	for i := range x {
		x[i] = float32(i)
	}
	run(t, p, 4, 256, y, x)
	require.Equal(t, []float32{32640, 98176, 163712, 204972}, y)
}

// matmul multiplies square matrices by tiles of 16x16 in shared memory.
const matmul = `
module "m"
shared 0 "a" [16][16]f32
shared 1 "b" [16][16]f32
kernel @MatMul(%c: ptr<global,f32>, %cn: i64, %a: ptr<global,f32>, %an: i64, %b: ptr<global,f32>, %bn: i64, %n: i64) args(c slice f32 "[]float32", a slice f32 "[]float32", b slice f32 "[]float32", n scalar i64 "int") {
b0:
  %tx = thread 0 : i64
  %ty = thread 1 : i64
  %bx = block 0 : i64
  %by = block 1 : i64
  %s = const 16 : i64
  %r0 = mul %by, %s : i64
  %row = add %r0, %ty : i64
  %c0 = mul %bx, %s : i64
  %col = add %c0, %tx : i64
  %sa = shared 0 : ptr<shared,[16][16]f32>
  %sb = shared 1 : ptr<shared,[16][16]f32>
  %sar = index %sa, %ty : ptr<shared,[16]f32>
  %pa = index %sar, %tx : ptr<shared,f32>
  %sbr = index %sb, %ty : ptr<shared,[16]f32>
  %pb = index %sbr, %tx : ptr<shared,f32>
  %zero = const 0 : i64
  %one = const 1 : i64
  %zf = const 0.0 : f32
  %rown = mul %row, %n : i64
  jump b1(%zero, %zf)
b1(%k: i64, %acc: f32):
  %more = lt %k, %n : bool
  br %more, b2, b6
b2:
  %ak = add %k, %tx : i64
  %ai = add %rown, %ak : i64
  bounds %ai, %an
  %ga = offset %a, %ai : ptr<global,f32>
  %va = load %ga : f32
  store %pa, %va
  %bk = add %k, %ty : i64
  %bkn = mul %bk, %n : i64
  %bi = add %bkn, %col : i64
  bounds %bi, %bn
  %gb = offset %b, %bi : ptr<global,f32>
  %vb = load %gb : f32
  store %pb, %vb
  barrier
  jump b3(%zero, %acc)
b3(%q: i64, %acc2: f32):
  %inner = lt %q, %s : bool
  br %inner, b4, b5
b4:
  %qa = index %sar, %q : ptr<shared,f32>
  %xa = load %qa : f32
  %qr = index %sb, %q : ptr<shared,[16]f32>
  %qb = index %qr, %tx : ptr<shared,f32>
  %xb = load %qb : f32
  %acc3 = fma %xa, %xb, %acc2 : f32
  %q2 = add %q, %one : i64
  jump b3(%q2, %acc3)
b5:
  barrier
  %k2 = add %k, %s : i64
  jump b1(%k2, %acc2)
b6:
  %ci = add %rown, %col : i64
  bounds %ci, %cn
  %gc = offset %c, %ci : ptr<global,f32>
  store %gc, %acc
  ret
}
`

func TestMatMul(t *testing.T) {
	p := load(t, matmul)
	const n = 48
	a, b, c := make([]float32, n*n), make([]float32, n*n), make([]float32, n*n)
	for i := range a {
		a[i], b[i] = float32(i%7), float32(i%5)
	}
	require.NoError(t, p.Run(Launch{Grid: [3]int{n / 16, n / 16}, Block: [3]int{16, 16}, Args: pack(c, a, b, n)}))
	for i := range n {
		for j := range n {
			var want float32
			for k := range n {
				want += a[i*n+k] * b[k*n+j]
			}
			require.Equal(t, want, c[i*n+j], "row %d, column %d", i, j)
		}
	}
}

// mandelbrot iterates z*z + c: each thread leaves its loop at another iteration.
const mandelbrot = `
module "m"
kernel @Mandelbrot(%y: ptr<global,i32>, %yn: i64, %w: i64) args(y slice i32 "[]int32", w scalar i64 "int") {
b0:` + global + `
  %c = lt %i, %yn : bool
  br %c, b1, b6
b1:
  %row = div %i, %w : i64
  %col = rem %i, %w : i64
  %wf = convert %w : f32
  %xf = convert %col : f32
  %yf = convert %row : f32
  %x1 = div %xf, %wf : f32
  %y1 = div %yf, %wf : f32
  %three = const 3.0 : f32
  %two = const 2.0 : f32
  %onef = const 1.5 : f32
  %x2 = mul %x1, %three : f32
  %cx = sub %x2, %two : f32
  %y2 = mul %y1, %three : f32
  %cy = sub %y2, %onef : f32
  %zf = const 0.0 : f32
  %four = const 4.0 : f32
  %z = const 0 : i32
  %one = const 1 : i32
  %max = const 200 : i32
  jump b2(%z, %zf, %zf)
b2(%k: i32, %zx: f32, %zy: f32):
  %more = lt %k, %max : bool
  br %more, b3, b5(%k)
b3:
  %xx = mul %zx, %zx : f32
  %yy = mul %zy, %zy : f32
  %rr = add %xx, %yy : f32
  %in = le %rr, %four : bool
  br %in, b4, b5(%k)
b4:
  %xy = mul %zx, %zy : f32
  %dx = sub %xx, %yy : f32
  %nx = add %dx, %cx : f32
  %xy2 = mul %xy, %two : f32
  %ny = add %xy2, %cy : f32
  %k2 = add %k, %one : i32
  jump b2(%k2, %nx, %ny)
b5(%n: i32):
  %py = offset %y, %i : ptr<global,i32>
  store %py, %n
  jump b6
b6:
  ret
}
`

// mandelbrotGo is the kernel in Go; it returns the number of iterations too.
func mandelbrotGo(out []int32, w int) (total int) {
	for i := range out {
		cx, cy := float32(i%w)/float32(w)*3-2, float32(i/w)/float32(w)*3-1.5
		var zx, zy float32
		k := int32(0)
		for ; k < 200; k++ {
			xx, yy := zx*zx, zy*zy
			if xx+yy > 4 {
				break
			}
			zx, zy = float32(xx-yy)+cx, float32(zx*zy*2)+cy
		}
		out[i] = k
		total += int(k)
	}
	return total
}

func TestMandelbrot(t *testing.T) {
	const w = 61
	got, want := make([]int32, w*w), make([]int32, w*w)
	run(t, load(t, mandelbrot), w*w/256+1, 256, got, w)
	mandelbrotGo(want, w)
	require.Equal(t, want, got)
}
