package kernels

import (
	"github.com/gokiln/kiln/dsl"
	core "github.com/gokiln/kiln/ops/kernels"
)

// Windows says how windows move over the last two dimensions of images.
type Windows struct {
	Clip dsl.ConstBool // windows reach into the padding
	Wide dsl.ConstBool // positions need more than 31 bits

	In, Kernel, Count, Pad, Dilation, Stride [2]int
	Div                                      [2]core.Divisor // the strides of windows

	X [2]int // the strides of images, or of the windows along both axes
	K [2]int // the strides of positions in a window
}

// Im2col stores what is in windows, 0 where that is padding. The walk has the result, the
// images where windows have their elements if there is no padding, and the positions of the
// elements, counted in the padded dimensions.
//
//kiln:kernel
func Im2col[T dsl.Number](t dsl.Thread, out, x []T, w core.Walk, p Windows) {
	w.Each(t, func(at [core.Operands]int) {
		y, z := at[2]-p.Pad[0], at[3]-p.Pad[1]
		if bool(p.Clip) && (y < 0 || y >= p.In[0] || z < 0 || z >= p.In[1]) {
			var zero T
			out[at[0]] = zero
			return
		}
		out[at[0]] = x[at[1]-p.Pad[0]*p.X[0]-p.Pad[1]*p.X[1]]
	})
}

// Col2im stores the sums of what windows have for each element of the images, in order
// of the positions in a window. The walk has the result, the windows' elements at the first
// position of the first window, and the positions of the result.
//
//kiln:kernel
func Col2im[T dsl.Number, C core.Computed](t dsl.Thread, out, x []T, w core.Walk, p Windows, add func(a, b C) C) {
	w.Each(t, func(at [core.Operands]int) {
		var sum C
		for i := range p.Kernel[0] {
			y, ok := p.window(0, at[2]+p.Pad[0]-i*p.Dilation[0])
			if !ok {
				continue
			}
			row := at[1] + i*p.K[0] + y*p.X[0]
			for k := range p.Kernel[1] {
				if z, ok := p.window(1, at[3]+p.Pad[1]-k*p.Dilation[1]); ok {
					sum = add(sum, dsl.Convert[C](x[row+k*p.K[1]+z*p.X[1]]))
				}
			}
		}
		out[at[0]] = dsl.Convert[T](sum)
	})
}

// window returns which window begins at a position along an axis, if one does.
func (p *Windows) window(axis, place int) (i int, ok bool) {
	if place < 0 {
		return 0, false
	}
	var rest int
	if p.Wide {
		i = place / p.Stride[axis]
		rest = place - i*p.Stride[axis]
	} else {
		i, rest = p.Div[axis].DivMod(place)
	}
	return i, rest == 0 && i < p.Count[axis]
}
