package kernels

import "github.com/gokiln/kiln/dsl"

// Conv says what a [ShortConv] is of.
type Conv struct {
	Channels int
	Step     int // from a token of x to the next
	Chunk    int // tokens of a thread, Width − 1 at least

	Width dsl.ConstInt // inputs of an output
	Bias  dsl.ConstBool
	SiLU  dsl.ConstBool
}

// earlier is the input of channel c at a token, which may be one before those of the batch.
func earlier[T dsl.Float, C dsl.Real](x []T, state []C, seq []int32, w Conv, at, c int) C {
	start := int(seq[Start])
	if at >= start {
		return dsl.Convert[C](x[at*w.Step+c])
	}
	if seq[Fresh] != 0 {
		return 0
	}
	n := int(w.Width) - 1
	return state[(int(seq[State])*n+at-start+n)*w.Channels+c]
}

// ShortConv stores a causal convolution of each channel, of the tokens of each sequence and those
// that came before, which the state has. A thread has a channel, and a chunk of tokens of the
// sequence of its block. The thread of the first chunk is the only one that reads the state, and
// stores the next.
//
//kiln:kernel
//kiln:const w.Width=3,4 w.Bias=true,false w.SiLU=true,false
func ShortConv[T dsl.Float, C dsl.Real](t dsl.Thread, out []T, state []C, x, weight, bias []T, table []int32, w Conv) {
	c, seq := t.GlobalX(), table[t.BlockY()*Columns:]
	first := int(seq[Start]) + t.BlockZ()*w.Chunk
	end := int(seq[End])
	if c >= w.Channels || first >= end {
		return
	}
	n := int(w.Width) - 1
	window := dsl.LocalSlice[C](w.Width)
	factor := dsl.LocalSlice[C](w.Width)
	for j := range n + 1 {
		factor[j] = dsl.Convert[C](weight[c*(n+1)+j])
		if j < n {
			window[j] = earlier(x, state, seq, w, first-n+j, c)
		}
	}
	var add C
	if w.Bias {
		add = dsl.Convert[C](bias[c])
	}
	for i := first; i < min(first+w.Chunk, end); i++ {
		window[n] = dsl.Convert[C](x[i*w.Step+c])
		sum := add
		for j := range n + 1 {
			sum += factor[j] * window[j]
		}
		if w.SiLU {
			sum /= 1 + dsl.Exp(-sum)
		}
		out[i*w.Channels+c] = dsl.Convert[T](sum)
		for j := range n {
			window[j] = window[j+1]
		}
	}
	if t.BlockZ() == 0 {
		for j := range n { // an input of the old state has a row behind that which it goes to
			state[(int(seq[State])*n+j)*w.Channels+c] = earlier(x, state, seq, w, end-n+j, c)
		}
	}
}
