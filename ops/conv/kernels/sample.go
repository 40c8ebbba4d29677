package kernels

import (
	"github.com/gokiln/kiln/dsl"
	core "github.com/gokiln/kiln/ops/kernels"
)

// Modes of interpolation at a position between elements.
const (
	SampleBilinear = iota // the mean of the four around it
	SampleNearest         // the nearest one, of two the even one
	SampleBicubic         // a sum of the sixteen around it, as in [Bicubic]
)

// What is beyond the edges of images.
const (
	OutsideZero    = iota // zeros
	OutsideEdge           // the element at the edge
	OutsideReflect        // the elements inside, mirrored at the edge: the middle of the element there, or its outer side
)

// Sampling says where numbers are read in the last two dimensions of images.
type Sampling struct {
	Mode, Outside dsl.ConstInt
	Aligned       dsl.ConstBool // -1 and 1 are the middles of the elements at the edges, and else their outer sides
	Each          dsl.ConstInt  // channels of a thread

	In, X    [2]int // sizes and strides of the images
	Pair     int    // the stride of the two numbers of a position
	Channels int
	XC, OutC int // the strides of channels
}

// Sample stores numbers of images at the positions of a grid: from -1 to 1 across and down. The
// walk has the result and the images at the first of some channels, the grid, and the number of
// that channel.
//
//kiln:kernel
func Sample[T dsl.Float, C dsl.Real](t dsl.Thread, out, x []T, grid []C, w core.Walk, p Sampling, mad func(a, b, c C) C) {
	w.Each(t, func(at [core.Operands]int) {
		across := taps(samplePlace(grid[at[2]], &p, 1), &p, 1)
		down := taps(samplePlace(grid[at[2]+p.Pair], &p, 0), &p, 0)
		n := 2
		switch p.Mode {
		case SampleNearest:
			n = 1
		case SampleBicubic:
			n = 4
		}
		for c := range int(p.Each) {
			if at[3]+c >= p.Channels {
				break
			}
			var sum C
			for i := range n {
				row := at[1] + c*p.XC + down.at[i]*p.X[0]
				var line C
				for k := range n {
					if down.in[i] && across.in[k] {
						line = mad(across.weight[k], dsl.Convert[C](x[row+across.at[k]*p.X[1]]), line)
					}
				}
				sum = mad(down.weight[i], line, sum)
			}
			out[at[0]+c*p.OutC] = dsl.Convert[T](sum)
		}
	})
}

// samplePlace is a position of a grid among the elements along an axis, as they count for mode.
func samplePlace[C dsl.Real](g C, p *Sampling, axis int) C {
	const far = 1 << 22 // where halves still are numbers of 32 bits
	if g != g {
		g = -1
	}
	g = min(max(g, -far), far)
	n := dsl.Convert[C](p.In[axis])
	v := (g + 1) / 2 * (n - 1)
	if !p.Aligned {
		v = ((g+1)*n - 1) / 2
	}
	v = min(max(v, -far), far)
	if p.Mode == SampleBicubic {
		return v // the elements around it are looked for one by one
	}
	return bounded(v, p, axis)
}

// bounded is a position, or the one that counts for it if it is beyond the edges.
func bounded[C dsl.Real](v C, p *Sampling, axis int) C {
	n := dsl.Convert[C](p.In[axis])
	switch p.Outside {
	case OutsideEdge:
		return min(max(v, 0), n-1)
	case OutsideReflect:
		low, span := C(-0.5), n
		if p.Aligned {
			low, span = 0, n-1
		}
		if span == 0 {
			return 0
		}
		v = dsl.Mod(dsl.Abs(v-low), 2*span)
		if v > span {
			v = 2*span - v
		}
		return min(max(v+low, 0), n-1)
	}
	return v
}

// tap is up to four elements along an axis, and what they count.
type tap[C dsl.Real] struct {
	at     [4]int
	in     [4]bool
	weight [4]C
}

// taps returns the elements around a position.
func taps[C dsl.Real](v C, p *Sampling, axis int) (t tap[C]) {
	low := dsl.Floor(v)
	switch p.Mode {
	case SampleNearest:
		low = dsl.RoundEven(v)
		t.weight[0] = 1
	case SampleBilinear:
		t.weight[0], t.weight[1] = 1-(v-low), v-low
	case SampleBicubic:
		t.weight = cubicWeights(v - low)
		low--
	}
	for k := range t.at {
		i := low + dsl.Convert[C](k)
		if p.Mode == SampleBicubic {
			i = bounded(i, p, axis)
		}
		t.at[k] = int(i)
		t.in[k] = t.at[k] >= 0 && t.at[k] < p.In[axis]
	}
	return t
}
