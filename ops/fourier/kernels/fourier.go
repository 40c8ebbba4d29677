package kernels

import (
	"math"

	"github.com/gokiln/kiln/dsl"
	core "github.com/gokiln/kiln/ops/kernels"
)

// What lines of numbers are, before and after a Fourier transform.
const (
	Complex = iota // pairs of numbers
	Real           // numbers, of which the imaginary parts are 0, or are not stored
	Half           // pairs, the first n/2+1 of n: the others are their conjugates, from the end on
)

// Spectrum is lines of numbers in memory.
type Spectrum struct {
	Form  dsl.ConstInt
	Lines [2]int // the strides of lines: of those of a group, and of groups
	Next  int    // the stride of numbers
	Pair  int    // the stride of the two parts
}

// Fourier is one step of the Fourier transforms of lines of N numbers: N·R^-1·Done^-1 series
// of numbers that are apart are transformed already, those R that make one are put together.
// (Stockham's algorithm: Van Loan, "Computational frameworks for the fast Fourier transform",
// 1992, section 1.7.)
type Fourier struct {
	R       dsl.ConstInt
	Inverse dsl.ConstBool // parts change places
	Wide    dsl.ConstBool // Count needs more than 31 bits

	N, Done, Count       int
	PerLine, Group, Each core.Divisor // N/R, how many lines are in a group, and Done
	Lines                int          // of a group
	X, Out               Spectrum
}

// complexNumber is a pair of numbers.
type complexNumber[C dsl.Real] struct{ re, im C }

func (a complexNumber[C]) plus(b complexNumber[C]) complexNumber[C] {
	return complexNumber[C]{a.re + b.re, a.im + b.im}
}

func (a complexNumber[C]) minus(b complexNumber[C]) complexNumber[C] {
	return complexNumber[C]{a.re - b.re, a.im - b.im}
}

func (a complexNumber[C]) times(b complexNumber[C]) complexNumber[C] {
	return complexNumber[C]{dsl.FMA(a.re, b.re, -a.im*b.im), dsl.FMA(a.re, b.im, a.im*b.re)}
}

// back is a, a quarter of a turn back.
func (a complexNumber[C]) back() complexNumber[C] { return complexNumber[C]{a.im, -a.re} }

// rootOf is exp(-2πi·k/n), for k from 0 up to n: of an angle below an eighth of a turn, so that it is
// as exact as sine and cosine are.
func rootOf[C dsl.Real](k, n int) complexNumber[C] {
	r, quarter := 4*k, 0
	if r >= 2*n {
		r, quarter = r-2*n, 2
	}
	if r >= n {
		r, quarter = r-n, quarter+1
	}
	rest := r
	if 2*r > n {
		rest = n - r
	}
	angle := dsl.Convert[C](rest) / dsl.Convert[C](n) * (math.Pi / 2)
	c, s := dsl.Cos(angle), dsl.Sin(angle)
	if 2*r > n {
		c, s = s, c
	}
	switch quarter {
	case 1:
		c, s = -s, c
	case 2:
		c, s = -c, -s
	case 3:
		c, s = s, -c
	}
	return complexNumber[C]{c, -s}
}

// line is where a line of a spectrum begins.
func (p *Spectrum) line(in, group int) int { return in*p.Lines[0] + group*p.Lines[1] }

// fetch is number i of the n of a line.
func fetch[C dsl.Real](x []C, p *Spectrum, from, i, n int, swap dsl.ConstBool) (v complexNumber[C]) {
	switch p.Form {
	case Real:
		v.re = x[from+i*p.Next]
	case Half:
		k := min(i, n-i)
		v.re = x[from+k*p.Next]
		if k != 0 && 2*k != n {
			v.im = x[from+k*p.Next+p.Pair]
		}
		if k < i {
			v.im = -v.im
		}
	default:
		v.re, v.im = x[from+i*p.Next], x[from+i*p.Next+p.Pair]
	}
	if swap {
		v.re, v.im = v.im, v.re
	}
	return v
}

// stow stores number i of the n of a line, if the spectrum has it.
func stow[C dsl.Real](out []C, p *Spectrum, to, i, n int, v complexNumber[C], swap dsl.ConstBool) {
	if swap {
		v.re, v.im = v.im, v.re
	}
	if p.Form == Half && 2*i > n {
		return
	}
	out[to+i*p.Next] = v.re
	if p.Form != Real {
		out[to+i*p.Next+p.Pair] = v.im
	}
}

// where returns which line a thread's numbers are of, and which they are.
func (p *Fourier) where(g int) (line, i int) {
	if p.Wide {
		line = g / (p.N / int(p.R))
		return line, g - line*(p.N/int(p.R))
	}
	return p.PerLine.DivMod(g)
}

func (p *Fourier) group(line int) (group, in int) {
	if p.Wide {
		group = line / p.Lines
		return group, line - group*p.Lines
	}
	return p.Group.DivMod(line)
}

// FourierStep makes one step of transforms, and multiplies by scale. A thread puts R numbers
// together.
//
//kiln:kernel
//kiln:const p.R=5,8 p.X.Form=0,2 p.Out.Form=0,2
func FourierStep[C dsl.Real](t dsl.Thread, out, x []C, p Fourier, scale C) {
	g := t.GlobalX()
	if g >= p.Count {
		return
	}
	line, i := p.where(g)
	group, in := p.group(line)
	from, to := p.X.line(in, group), p.Out.line(in, group)
	var q, k int
	if p.Wide {
		q = i / p.Done
		k = i - q*p.Done
	} else {
		q, k = p.Each.DivMod(i)
	}
	r := int(p.R)
	v := dsl.LocalSlice[complexNumber[C]](p.R)
	for s := range r {
		v[s] = fetch(x, &p.X, from, i+s*(p.N/r), p.N, p.Inverse)
		if s > 0 && p.Done > 1 {
			v[s] = v[s].times(rootOf[C](s*k, p.Done*r))
		}
	}
	butterfly(p.R, v)
	for s := range r {
		v[s].re, v[s].im = v[s].re*scale, v[s].im*scale
		stow(out, &p.Out, to, (q*r+s)*p.Done+k, p.N, v[s], p.Inverse)
	}
}

// butterfly transforms r numbers.
func butterfly[C dsl.Real](r dsl.ConstInt, v []complexNumber[C]) {
	switch r {
	case 1:
	case 2:
		v[0], v[1] = v[0].plus(v[1]), v[0].minus(v[1])
	case 4:
		v[0], v[1], v[2], v[3] = dft4(v[0], v[1], v[2], v[3])
	case 8:
		const h = math.Sqrt2 / 2
		a, b, c, d := dft4(v[0], v[2], v[4], v[6])
		e, f, g, u := dft4(v[1], v[3], v[5], v[7])
		f = complexNumber[C]{(f.re + f.im) * h, (f.im - f.re) * h}
		g = g.back()
		u = complexNumber[C]{(u.im - u.re) * h, -(u.re + u.im) * h}
		v[0], v[4] = a.plus(e), a.minus(e)
		v[1], v[5] = b.plus(f), b.minus(f)
		v[2], v[6] = c.plus(g), c.minus(g)
		v[3], v[7] = d.plus(u), d.minus(u)
	default:
		odd(r, v)
	}
}

// dft4 is the transform of four numbers.
func dft4[C dsl.Real](a, b, c, d complexNumber[C]) (v, w, x, y complexNumber[C]) {
	e, f, g, h := a.plus(c), a.minus(c), b.plus(d), b.minus(d).back()
	return e.plus(g), f.plus(h), e.minus(g), f.minus(h)
}

// odd transforms an odd number of numbers: those that are as far from both ends share products.
func odd[C dsl.Real](r dsl.ConstInt, v []complexNumber[C]) {
	const most = 6
	var sum, dif [most]complexNumber[C]
	cos, sin := rootsOf[C](r)
	first := v[0]
	n, m := int(r), int(r)/2
	total := first
	for k := range m {
		sum[k], dif[k] = v[k+1].plus(v[n-1-k]), v[k+1].minus(v[n-1-k])
		total = total.plus(sum[k])
	}
	v[0] = total
	for p := 1; p <= m; p++ {
		even, turned := first, complexNumber[C]{}
		for k := range m {
			j := (k + 1) * p % n
			s := sin[min(j, n-j)]
			if 2*j > n {
				s = -s
			}
			c := cos[min(j, n-j)]
			even = complexNumber[C]{dsl.FMA(c, sum[k].re, even.re), dsl.FMA(c, sum[k].im, even.im)}
			turned = complexNumber[C]{dsl.FMA(s, dif[k].re, turned.re), dsl.FMA(s, dif[k].im, turned.im)}
		}
		v[p], v[n-p] = even.plus(turned.back()), even.minus(turned.back())
	}
}

// rootsOf returns the cosines and sines of 2πk/r, for k up to r/2.
func rootsOf[C dsl.Real](r dsl.ConstInt) (cos, sin [7]C) {
	switch r {
	case 3:
		cos = [7]C{1, -0.5}
		sin = [7]C{0, 0.8660254037844386}
	case 5:
		cos = [7]C{1, 0.30901699437494745, -0.8090169943749475}
		sin = [7]C{0, 0.9510565162951535, 0.5877852522924731}
	case 7:
		cos = [7]C{1, 0.6234898018587335, -0.2225209339563144, -0.9009688679024191}
		sin = [7]C{0, 0.7818314824680298, 0.9749279121818236, 0.4338837391175581}
	case 11:
		cos = [7]C{1, 0.8412535328311812, 0.41541501300188644, -0.14231483827328514, -0.6548607339452851, -0.9594929736144974}
		sin = [7]C{0, 0.5406408174555976, 0.9096319953545183, 0.9898214418809327, 0.7557495743542583, 0.28173255684142967}
	case 13:
		cos = [7]C{1, 0.8854560256532099, 0.5680647467311558, 0.12053668025532305, -0.3546048870425356, -0.7485107481711011, -0.970941817426052}
		sin = [7]C{0, 0.46472317204376856, 0.8229838658936564, 0.992708874098054, 0.9350162426854148, 0.6631226582407952, 0.23931566428755777}
	}
	return cos, sin
}

// Chirp is lines of N numbers that are transformed by a convolution of M numbers (Bluestein, "A linear
// filtering approach to the computation of discrete Fourier transform", 1970): w(k) is
// exp(-πi·k²/N).
type Chirp struct {
	Inverse dsl.ConstBool

	N, M, Count, Lines int
	X, Out             Spectrum
}

// wave is w(k).
func (p *Chirp) wave(k int) (at, n int) { return k * k % (2 * p.N), 2 * p.N }

// ChirpIn stores the numbers of lines, each times w, and zeros behind them.
//
//kiln:kernel
func ChirpIn[C dsl.Real](t dsl.Thread, out, x []C, p Chirp) {
	g := t.GlobalX()
	if g >= p.Count {
		return
	}
	line := g / p.M
	i := g - line*p.M
	var v complexNumber[C]
	if i < p.N {
		k, n := p.wave(i)
		v = fetch(x, &p.X, p.X.line(line%p.Lines, line/p.Lines), i, p.N, p.Inverse).times(rootOf[C](k, n))
	}
	out[2*g], out[2*g+1] = v.re, v.im
}

// ChirpFilter stores what lines are convolved with: the conjugates of w, forwards and backwards.
//
//kiln:kernel
func ChirpFilter[C dsl.Real](t dsl.Thread, out []C, p Chirp) {
	g := t.GlobalX()
	if g >= p.M {
		return
	}
	var v complexNumber[C]
	if i := min(g, p.M-g); i < p.N {
		v = rootOf[C](p.wave(i))
	}
	out[2*g], out[2*g+1] = v.re, -v.im
}

// ChirpProduct multiplies each line by the filter.
//
//kiln:kernel
func ChirpProduct[C dsl.Real](t dsl.Thread, x, filter []C, p Chirp) {
	g := t.GlobalX()
	if g >= p.Count {
		return
	}
	i := g % p.M
	v := complexNumber[C]{x[2*g], x[2*g+1]}.times(complexNumber[C]{filter[2*i], filter[2*i+1]})
	x[2*g], x[2*g+1] = v.re, v.im
}

// ChirpOut stores the transforms of lines: the first numbers of the convolution, times w and
// scale.
//
//kiln:kernel
func ChirpOut[C dsl.Real](t dsl.Thread, out, x []C, p Chirp, scale C) {
	g := t.GlobalX()
	if g >= p.Count {
		return
	}
	line := g / p.N
	i := g - line*p.N
	at := 2 * (line*p.M + i)
	v := complexNumber[C]{x[at] * scale, x[at+1] * scale}.times(rootOf[C](p.wave(i)))
	stow(out, &p.Out, p.Out.line(line%p.Lines, line/p.Lines), i, p.N, v, p.Inverse)
}
