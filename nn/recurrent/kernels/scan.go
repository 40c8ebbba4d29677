package kernels

import "github.com/gokiln/kiln/dsl"

// Scan says what a [SelectiveScan] is of.
type Scan struct {
	Channels int // of all heads
	Size     int // channels of a head
	Shared   int // heads that have the same B and C
	N        int // numbers of a channel's state

	X, Step, B, C, Gate int // from a token to the next in each operand

	Each   dsl.ConstInt  // numbers of a state that a thread has: N/ScanLanes, rounded up
	Whole  dsl.ConstBool // these are N exactly
	Scalar dsl.ConstBool // A is a number for each head, and not for each number of a state
	Bias   dsl.ConstBool
	Skip   dsl.ConstBool
	Gated  dsl.ConstBool
}

// ScanLanes is how many threads have the state of a channel, and how many tokens they take
// together.
const ScanLanes = 8

// SelectiveScan stores the results of a selective state-space model (Gu and Dao, "Mamba:
// linear-time sequence modeling with selective state spaces", 2023, equation 2 and algorithm 2). At
// each token the state h of a channel becomes
//
//	h ← exp(Δ·A)·h + Δ·x·B    with Δ = softplus(step + bias), from low to high
//
// and the result is C·h + skip·x, times silu(gate). Eight threads have a state in registers, for
// all tokens of a sequence: numbers in turn, so that what they load of B, C and states is
// contiguous. What is once for a token is computed by one of them, for eight tokens at a time.
// Their sums are added up so that each thread gets that of its token.
//
//kiln:kernel
//kiln:const w.Each=2,16 w.Whole=true,false w.Scalar=true,false w.Bias=true w.Skip=true w.Gated=true,false
func SelectiveScan[T, O dsl.Float, C dsl.Real](t dsl.Thread, out []T, state []C, x, step, b, c, gate []T, a, bias, skip []O, table []int32, low, high C, w Scan) {
	seq := table[t.BlockY()*Columns:]
	lane, channel := dsl.GroupLane(t, ScanLanes), t.GlobalX()/ScanLanes
	stored := channel < w.Channels
	channel = min(channel, w.Channels-1) // one behind the last stays for what a warp does together
	head := channel / w.Size
	from, at := head/w.Shared*w.N, (int(seq[State])*w.Channels+channel)*w.N
	h, rates := dsl.LocalSlice[C](w.Each), dsl.LocalSlice[C](w.Each)
	var rate, add, factor C
	if w.Scalar {
		rate = dsl.Convert[C](a[head])
	}
	if w.Bias {
		add = dsl.Convert[C](bias[head])
	}
	if w.Skip {
		factor = dsl.Convert[C](skip[head])
	}
	for r := range int(w.Each) {
		if i := r*ScanLanes + lane; bool(w.Whole) || i < w.N {
			if seq[Fresh] == 0 {
				h[r] = state[at+i]
			}
			if !w.Scalar {
				rates[r] = dsl.Convert[C](a[head*w.N+i])
			}
		}
	}
	end := int(seq[End])
	for first := int(seq[Start]); first < end; first += ScanLanes {
		mine := min(first+lane, end-1)
		delta := softplus(dsl.Convert[C](step[mine*w.Step+head]) + add)
		delta = min(max(delta, low), high)
		in := dsl.Convert[C](x[mine*w.X+channel])
		enters := delta * in
		fades := dsl.Exp(delta * rate) // of a scalar A
		var y [ScanLanes]C
		for j := range ScanLanes {
			if i := first + j; i < end {
				u := dsl.GroupShuffle(t, enters, j, ScanLanes)
				d := dsl.GroupShuffle(t, delta, j, ScanLanes)
				var f C
				if w.Scalar {
					f = dsl.GroupShuffle(t, fades, j, ScanLanes)
				}
				for r := range int(w.Each) {
					if k := r*ScanLanes + lane; bool(w.Whole) || k < w.N {
						if !w.Scalar {
							f = dsl.Exp(d * rates[r])
						}
						h[r] = dsl.FMA(f, h[r], u*dsl.Convert[C](b[i*w.B+from+k]))
						y[j] = dsl.FMA(h[r], dsl.Convert[C](c[i*w.C+from+k]), y[j])
					}
				}
			}
		}
		sum := ownSum(t, &y, lane)
		if first+lane < end && stored {
			sum = dsl.FMA(factor, in, sum)
			if w.Gated {
				z := dsl.Convert[C](gate[mine*w.Gate+channel])
				sum *= z / (1 + dsl.Exp(-z))
			}
			out[mine*w.Channels+channel] = dsl.Convert[T](sum)
		}
	}
	for r := range int(w.Each) {
		if i := r*ScanLanes + lane; stored && (bool(w.Whole) || i < w.N) {
			state[at+i] = h[r]
		}
	}
}

// ownSum adds up number j of all threads of a group to thread j, for all of them: in each round a
// thread gives half of its numbers to another one, and gets its sums of the others.
func ownSum[C dsl.Real](t dsl.Thread, y *[ScanLanes]C, lane int) C {
	for half := ScanLanes / 2; half > 0; half /= 2 {
		upper := lane&half != 0
		for i := range half {
			keep, give := y[i], y[i+half]
			if upper {
				keep, give = give, keep
			}
			y[i] = keep + dsl.ShuffleXor(t, give, half)
		}
	}
	return y[0]
}

// softplus is log(1 + eˣ).
func softplus[C dsl.Real](x C) C { return max(x, 0) + dsl.Log1p(dsl.Exp(-dsl.Abs(x))) }
