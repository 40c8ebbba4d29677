package kernels

import (
	"github.com/gokiln/kiln/dsl"
	core "github.com/gokiln/kiln/ops/kernels"
	matmulkernels "github.com/gokiln/kiln/ops/matmul/kernels"
)

// Axes is how many dimensions a [Window] moves in at most.
const Axes = 3

// Window says how a window moves over an input. The innermost dimension is the last
// axis; axes that are not used have sizes of 1.
type Window struct {
	Transposed            dsl.ConstBool // the roles of input and result are swapped
	Inner                 dsl.ConstBool // for [ConvTiles]: channels are multiples of cfg.K, and k goes over them first
	In, Out, Kernel       [Axes]int     // sizes
	Stride, Pad, Dilation [Axes]int
	X                     [Axes]int // strides of the input
	Channels              int       // of the input, of a group
	XChannel              int       // stride of channels of the input
	OutDiv, KernelDiv     [Axes]core.Divisor
	ChannelDiv            core.Divisor

	// For [ConvTiles], whose columns are positions of all inputs: how many of each, and
	// strides of inputs and of their results.
	Image            core.Divisor
	XImage, OutImage int
}

// source returns which position of the input, along an axis, a position of the kernel meets at
// one of the result, and whether there is one.
func (v *Window) source(axis, out, kernel int) (int, bool) {
	if !v.Transposed {
		i := out*v.Stride[axis] - v.Pad[axis] + kernel*v.Dilation[axis]
		return i, uint(i) < uint(v.In[axis])
	}
	i := out + v.Pad[axis] - kernel*v.Dilation[axis]
	if v.Stride[axis] == 1 {
		return i, uint(i) < uint(v.In[axis])
	}
	q := i / v.Stride[axis]
	return q, q*v.Stride[axis] == i && uint(q) < uint(v.In[axis])
}

// outPlace splits the number of an element of the result into its indices.
func (v *Window) outPlace(i int) (at [Axes]int) {
	i, at[2] = v.OutDiv[2].DivMod(i)
	at[0], at[1] = v.OutDiv[1].DivMod(i)
	return at
}

// kernelPlace splits the number of an element of a kernel, of all channels, into its
// indices and the channel.
func (v *Window) kernelPlace(i int) (channel int, at [Axes]int) {
	i, at[2] = v.KernelDiv[2].DivMod(i)
	i, at[1] = v.KernelDiv[1].DivMod(i)
	channel, at[0] = v.KernelDiv[0].DivMod(i)
	return channel, at
}

// ConvTiles is a convolution as a product of matrices: weights, with a row for each
// channel of the result, by the input, with a column for each element of the result
// that has what the kernel meets there. This matrix is never in memory: a tile of it
// is read from the input where [matmulkernels.Gemm] reads a tile of an operand. All that a thread
// reads is of one column.
//
//kiln:kernel
//kiln:const cfg.M=64 cfg.N=64 cfg.K=8 cfg.Rows=4 cfg.Cols=4 cfg.Blocks=0,2 cfg.X=0,1 cfg.Y=1 cfg.YVec=false
func ConvTiles[O, T, C dsl.Number](t dsl.Thread, out []O, weights, x []T, w core.Walk, p matmulkernels.Product, cfg matmulkernels.Tile, v Window, mad func(a, b, c C) C) {
	dsl.LaunchBounds(t, cfg.Threads(), cfg.Blocks)
	row, col := p.TileAt(t.BlockX(), int(cfg.M), int(cfg.N))
	lo := t.BlockZ() * p.Part
	hi := min(lo+p.Part, p.K)
	n, _, _, _ := matmulkernels.Spot(t, cfg.N, &cfg, matmulkernels.AcrossK, false)
	image, first := v.Image.DivMod(min(col+n, p.N-1))
	place := v.outPlace(first)
	for z := t.BlockY(); z < p.Batch; z += t.GridDimY() {
		at := w.At(z)
		ws := dsl.LocalSlice[int](cfg.Loads(cfg.M, cfg.XVec))
		matmulkernels.TileAddresses(t, ws, at[1]+lo*p.XK, row, p.M, p.XM, p.XK, cfg.M, &cfg, cfg.X, cfg.XVec)
		acc := dsl.LocalSlice[C](cfg.Rows * cfg.Cols)
		from := at[2] + image*v.XImage
		k := lo
		load := func(from int, inside bool) C {
			var e T
			if inside {
				e = x[from]
			}
			return dsl.Convert[C](e)
		}
		meet := v.begin(t, place, from, lo, &cfg)
		matmulkernels.MultiplyTile(t, acc, hi-lo, &cfg, mad, func(to []C, some int) {
			matmulkernels.LoadTile(t, to, weights, ws, some, p.XK, cfg.M, &cfg, cfg.X, cfg.XVec)
		}, func(to []C, some int) {
			if v.Inner {
				v.bringChannels(place, &meet, &cfg, func(i, from int, inside bool) { to[i] = load(from, inside) })
			} else {
				v.bringAny(t, place, k, k+some, from, &cfg, func(i, from int, inside bool) { to[i] = load(from, inside) })
			}
			k += some
		})
		matmulkernels.StoreTile(t, out, acc, at[0]+t.BlockZ()*p.Parts, row, col, &p, &cfg, func(n int) int {
			image, place := v.Image.DivMod(n)
			return image*v.OutImage + place*p.OutN
		})
	}
}

// meets returns where in the input a position of the kernel meets one of the result, if it
// does.
func (v *Window) meets(place, kernel [Axes]int) (at int, inside bool) {
	inside = true
	for axis := range Axes {
		j, ok := v.source(axis, place[axis], kernel[axis])
		at, inside = at+j*v.X[axis], inside && ok
	}
	return at, inside
}

// meeting is where a thread of [ConvTiles] is that goes over channels first.
type meeting struct {
	first   int  // of the thread's elements, in the first channel
	kernel  int  // number of the position of the kernel
	channel int  // the next one
	from    int  // the thread's element in that
	inside  bool // the kernel meets something
}

// begin returns the meeting at k.
func (v *Window) begin(t dsl.Thread, place [Axes]int, at, k int, cfg *matmulkernels.Tile) (m meeting) {
	if v.Inner {
		_, down, _, _ := matmulkernels.Spot(t, cfg.N, cfg, matmulkernels.AcrossK, false)
		m.first = at + down*v.XChannel
		m.kernel, m.channel = v.ChannelDiv.DivMod(k)
		v.seek(&m, place)
	}
	return m
}

// seek finds where in the input the position of the kernel is.
func (v *Window) seek(m *meeting, place [Axes]int) {
	var kernel [Axes]int
	i, last := v.KernelDiv[2].DivMod(m.kernel)
	kernel[2] = last
	kernel[0], kernel[1] = v.KernelDiv[1].DivMod(i)
	m.from, m.inside = v.meets(place, kernel)
	m.from += m.first + m.channel*v.XChannel
}

// bringChannels returns where in the input the thread's elements of a tile are, which is of
// one position of the kernel, and goes on to the next.
func (v *Window) bringChannels(place [Axes]int, m *meeting, cfg *matmulkernels.Tile, load func(i, from int, inside bool)) {
	if m.channel == 0 {
		v.seek(m, place)
	}
	for i := range int(cfg.Loads(cfg.N, false)) {
		load(i, m.from, m.inside)
		m.from += int(cfg.Threads()/cfg.N) * v.XChannel
	}
	m.channel += int(cfg.K)
	if m.channel == v.Channels {
		m.kernel, m.channel = m.kernel+1, 0
	}
}

// bringAny is the same of any tile, from k on below hi.
func (v *Window) bringAny(t dsl.Thread, place [Axes]int, k, hi, at int, cfg *matmulkernels.Tile, load func(i, from int, inside bool)) {
	_, down, _, more := matmulkernels.Spot(t, cfg.N, cfg, matmulkernels.AcrossK, false)
	for i := range int(cfg.Loads(cfg.N, false)) {
		ki := k + down + i*more
		channel, kernel := v.kernelPlace(ki)
		from, inside := v.meets(place, kernel)
		load(i, at+channel*v.XChannel+from, inside && ki < hi)
	}
}

// Direct says what a thread of [Conv] computes.
type Direct struct {
	Each       dsl.ConstInt  // channels of the result
	Wide       dsl.ConstInt  // elements of each
	Rows       dsl.ConstBool // blocks in y go over rows of the result; else its elements are one row
	Contiguous dsl.ConstBool // neighbours in a row meet contiguous elements of the input
	High       dsl.ConstInt  // sizes of a kernel that is small, along the last two axes: a thread loads
	Long       dsl.ConstInt  // all that it meets before it uses any; 0 for one that is not

	Chains dsl.ConstBool // sums are long
}

// Weights says where the weights of a convolution are, and the result.
type Weights struct {
	Out, In    int       // strides of channels of the result, and of the input
	Kernel     [Axes]int // strides
	Channels   int       // of the result, of a group
	OutChannel int       // stride of channels of the result
	OutAt      [Axes]int // strides of the result
	Batch      int       // inputs times groups
}

// Conv is a convolution without tiles in shared memory: a thread sums some channels of
// some elements. It is for few channels, as where each is a group, and for processors
// whose vectors are warps. Blocks in z go over channels.
//
//kiln:kernel
//kiln:const cfg.Each=2,4 cfg.Wide=1,2 cfg.High=0,2 cfg.Long=0,3 cfg.Chains=false,true
func Conv[T dsl.Number, C core.Computed](t dsl.Thread, out, weights, x []T, w core.Walk, v Window, u Weights, cfg Direct, mad func(a, b, c C) C) {
	row := v.Out[0] * v.Out[1] * v.Out[2]
	rows := 1
	if cfg.Rows {
		row, rows = v.Out[2], v.Out[0]*v.Out[1]
	}
	first := t.BlockX()*t.BlockDimX()*int(cfg.Wide) + t.ThreadX()
	for y := t.BlockY(); y < u.Batch*rows; y += t.GridDimY() {
		at := w.At(y / rows)
		channel := t.BlockZ() * int(cfg.Each)
		acc, sums := dsl.LocalSlice[C](cfg.Each*cfg.Wide), dsl.LocalSlice[C](cfg.Each*cfg.Wide*core.ChainDepth)
		n := core.Chained{Long: bool(cfg.Chains)}
		at[1] += channel * u.Out
		for range v.Channels {
			for k0 := range v.Kernel[0] {
				if cfg.High*cfg.Long > 0 {
					convSmall(acc, weights, x, at, channel, k0, first, y%rows, row, t.BlockDimX(), &v, &u, &cfg, mad)
					core.CountAdds(acc, sums, &n, int(cfg.High*cfg.Long))
					continue
				}
				for k1 := range v.Kernel[1] {
					for low, high := 0, 0; low < v.Kernel[2]; low = high {
						high = n.End(low, v.Kernel[2])
						for k2 := low; k2 < high; k2++ {
							xs := dsl.LocalSlice[C](cfg.Wide)
							kernel := [Axes]int{k0, k1, k2}
							convLoad(xs, x, at[2], first, y%rows, row, t.BlockDimX(), kernel, &v, &cfg)
							convAdd(acc, xs, weights, at[1], channel, kernel, &u, &cfg, mad)
						}
						core.CountAdds(acc, sums, &n, high-low)
					}
				}
			}
			at[1], at[2] = at[1]+u.In, at[2]+v.XChannel
		}
		core.JoinChains(acc, sums, &n)
		for e := range int(cfg.Each) {
			for i := range int(cfg.Wide) {
				j := first + i*t.BlockDimX()
				if j < row && channel+e < u.Channels {
					place := v.place(j, y%rows, bool(cfg.Rows))
					to := at[0] + (channel+e)*u.OutChannel + place[0]*u.OutAt[0] + place[1]*u.OutAt[1]
					out[to+matmulkernels.TimesStride(place[2], u.OutAt[2], cfg.Contiguous)] = dsl.Convert[T](acc[e*int(cfg.Wide)+i])
				}
			}
		}
	}
}

// place returns the indices of element i of a row of the result, or of all.
func (v *Window) place(i, row int, rows bool) [Axes]int {
	if !rows {
		return v.outPlace(i)
	}
	q, r := v.OutDiv[1].DivMod(row)
	return [Axes]int{q, r, i}
}

// convSmall adds the products of all positions of a small kernel that are at k0 along the
// first axis.
func convSmall[T, C dsl.Number](acc []C, weights, x []T, at [core.Operands]int, channel, k0, first, y, row, apart int, v *Window, u *Weights, cfg *Direct, mad func(a, b, c C) C) {
	high, long, wide := int(cfg.High), int(cfg.Long), int(cfg.Wide)
	xs := dsl.LocalSlice[C](cfg.High * cfg.Long * cfg.Wide)
	for k := range high * long {
		convLoad(xs[k*wide:], x, at[2], first, y, row, apart, [Axes]int{k0, k / long, k % long}, v, cfg)
	}
	for k := range high * long {
		convAdd(acc, xs[k*wide:], weights, at[1], channel, [Axes]int{k0, k / long, k % long}, u, cfg, mad)
	}
}

// convLoad loads what a position of the kernel meets for the elements of a thread, or 0.
func convLoad[T, C dsl.Number](to []C, x []T, at, first, y, row, apart int, kernel [Axes]int, v *Window, cfg *Direct) {
	for i := range int(cfg.Wide) {
		j := first + i*apart
		place := v.place(j, y, bool(cfg.Rows))
		i0, ok0 := v.source(0, place[0], kernel[0])
		i1, ok1 := v.source(1, place[1], kernel[1])
		i2 := j - v.Pad[2] + kernel[2]*v.Dilation[2]
		ok2 := uint(i2) < uint(v.In[2])
		if !cfg.Contiguous {
			i2, ok2 = v.source(2, place[2], kernel[2])
			i2 *= v.X[2]
		}
		var e T
		if j < row && ok0 && ok1 && ok2 {
			e = x[at+i0*v.X[0]+i1*v.X[1]+i2]
		}
		to[i] = dsl.Convert[C](e)
	}
}

// convAdd adds the products of one position of the kernel.
func convAdd[T, C dsl.Number](acc, xs []C, weights []T, at, channel int, kernel [Axes]int, u *Weights, cfg *Direct, mad func(a, b, c C) C) {
	at += kernel[0]*u.Kernel[0] + kernel[1]*u.Kernel[1] + kernel[2]*u.Kernel[2]
	for e := range int(cfg.Each) {
		w := dsl.Convert[C](weights[at+min(e, u.Channels-1-channel)*u.Out]) // the last again where there are no more
		for i := range int(cfg.Wide) {
			acc[e*int(cfg.Wide)+i] = mad(xs[i], w, acc[e*int(cfg.Wide)+i])
		}
	}
}
