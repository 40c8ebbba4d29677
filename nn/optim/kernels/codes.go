package kernels

import "github.com/gokiln/kiln/dsl"

// CodeBlock is how many elements share a scale where states are stored in 8 bits: one for each
// thread of a block.
const CodeBlock = 256

// Codes is how many values a number of 8 bits stands for.
const Codes = 256

// nearest returns which of the codes, in ascending order from at on, is next to x.
func nearest(codes []float32, at int, x float32) uint8 {
	k := 0
	for step := Codes / 2; step > 0; step /= 2 {
		if codes[at+k+step] <= x {
			k += step
		}
	}
	if k < Codes-1 && codes[at+k+1]-x < x-codes[at+k] {
		k++
	}
	return uint8(k)
}

// part is x over the scale of its block.
func part(x, scale float32) float32 {
	if scale > 0 {
		return x / scale
	}
	return 0
}

// UpdateCodes is [Update] with states of 8 bits: each stands for one of the codes times the scale
// of its block of elements, the largest magnitude there (Dettmers et al., "8-bit Optimizers via
// Block-wise Quantization", 2022, section 2). The codes of s0, which have signs, come first, and
// behind them those of s1.
//
//kiln:kernel
func UpdateCodes[T, O dsl.Number](t dsl.Thread, x []T, w []float32, g []O, s0, s1 []uint8, a0, a1, codes, scale, steps []float32, row int, r Rule[float32], s Span, f func(e Elem[float32], r Rule[float32]) Elem[float32]) {
	block := t.BlockX()
	i := block*CodeBlock + t.ThreadX()
	var e Elem[float32]
	in := i < s.N
	if in {
		e.G = dsl.Convert[float32](g[i]) * scale[0]
		if s.Master {
			e.X = w[i]
		} else {
			e.X = dsl.Convert[float32](x[i])
		}
		e.S0 = codes[int(s0[i])] * a0[block]
		if s.States > 1 {
			e.S1 = codes[Codes+int(s1[i])] * a1[block]
		}
		e = f(e, r.atStep(steps, row))
	}
	most0 := dsl.BlockMax(t, dsl.Abs(e.S0))
	most1 := dsl.BlockMax(t, dsl.Abs(e.S1))
	if t.ThreadX() == 0 {
		a0[block] = most0
		if s.States > 1 {
			a1[block] = most1
		}
	}
	if !in {
		return
	}
	x[i] = dsl.Convert[T](e.X)
	if s.Master {
		w[i] = e.X
	}
	s0[i] = nearest(codes, 0, part(e.S0, most0))
	if s.States > 1 {
		s1[i] = nearest(codes, Codes, part(e.S1, most1))
	}
}
