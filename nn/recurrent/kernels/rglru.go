package kernels

import "github.com/gokiln/kiln/dsl"

// Linear says what an [RGLRU] is of.
type Linear struct {
	Channels int

	Input, InputGate, Gate int // from a token to the next in each operand
}

// inFlight is how many tokens a thread loads at a time.
const inFlight = 4

// RGLRU stores the states of real-gated linear recurrent units (De et al., "Griffin: mixing gated
// linear recurrences with local attention for efficient language models", 2024, equations 1 to 4):
//
//	a = exp(−8·softplus(Λ)·σ(gate))
//	h ← a·h + √(1 − a²)·σ(inputGate)·x
//
// where the root is 1 at the first token of a sequence. A thread has a channel of a sequence.
//
//kiln:kernel
func RGLRU[T dsl.Float](
	t dsl.Thread, out []T, state []float32, x, inputGate, gate, lambda []T, table []int32, w Linear,
) {
	c, seq := t.GlobalX(), table[t.BlockY()*Columns:]
	if c >= w.Channels {
		return
	}
	at, end, fresh := int(seq[State])*w.Channels+c, int(seq[End]), seq[Fresh] != 0
	rate := -8 * softplus(dsl.Convert[float32](lambda[c]))
	var h float32
	if !fresh {
		h = state[at]
	}
	for first := int(seq[Start]); first < end; first += inFlight {
		var a, add [inFlight]float32
		for j := range inFlight {
			i := min(first+j, end-1)
			power := rate * sigmoid(dsl.Convert[float32](gate[i*w.Gate+c]))
			a[j], add[j] = dsl.Exp(power), dsl.Sqrt(-dsl.Expm1(2*power))
			if fresh && i == int(seq[Start]) {
				add[j] = 1
			}
			open := sigmoid(dsl.Convert[float32](inputGate[i*w.InputGate+c]))
			add[j] *= open * dsl.Convert[float32](x[i*w.Input+c])
		}
		for j := range inFlight {
			if i := first + j; i < end {
				h = dsl.FMA(a[j], h, add[j])
				out[i*w.Channels+c] = dsl.Convert[T](h)
			}
		}
	}
	state[at] = h
}

// sigmoid is 1/(1 + e⁻ˣ).
func sigmoid(x float32) float32 { return 1 / (1 + dsl.Exp(-x)) }
