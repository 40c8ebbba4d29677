package kernels

import "github.com/gokiln/kiln/dsl"

// Delta says what a [GatedDelta] or a [GeneralDelta] is of.
type Delta struct {
	Heads int // of values
	Keyed int // of queries and keys, which are for several of values
	Key   int // features of a key
	Value int // and of a value

	// From a token to the next in each operand.
	Query, Keys, Values, Gates, Rates, Removed int

	Lanes     dsl.ConstInt  // threads that have a column of a state
	Rows      dsl.ConstInt  // features of a key that each has: Key/Lanes, rounded up
	Whole     dsl.ConstBool // these are Key exactly
	Normalise dsl.ConstBool // queries and keys have length 1
	Tiled     dsl.ConstBool // heads of values have those of keys over and over, not as many each
}

// column is what a thread of a delta rule has: every so many numbers one of a column of the state of
// a head, which is what all keys have stored for a feature of values.
type column struct {
	head, value, lane int
	at                int // of the column in the states
	stored            bool
}

// columnOf is the column of a thread, of the block's columns from one on.
func columnOf(t dsl.Thread, seq []int32, first int, w *Delta) column {
	c := column{head: t.BlockY(), lane: dsl.GroupLane(t, int(w.Lanes))}
	c.value = first + t.ThreadX()/int(w.Lanes)
	c.stored = c.value < w.Value
	c.value = min(c.value, w.Value-1) // one behind the last stays for the sums of the warp
	c.at = ((int(seq[State])*w.Heads+c.head)*w.Value + c.value) * w.Key
	return c
}

// row is the feature of keys that number r of a thread is of, and whether there is one.
func (c *column) row(r int, w *Delta) (i int, ok bool) {
	i = r*int(w.Lanes) + c.lane
	return i, bool(w.Whole) || i < w.Key
}

// load reads a column, zeros of a sequence that begins.
func (c *column) load(s []float32, state []float32, seq []int32, w *Delta) {
	for r := range int(w.Rows) {
		s[r] = 0
		if i, ok := c.row(r, w); ok && seq[Fresh] == 0 {
			s[r] = state[c.at+i]
		}
	}
}

// store writes it.
func (c *column) store(s []float32, state []float32, w *Delta) {
	for r := range int(w.Rows) {
		if i, ok := c.row(r, w); ok && c.stored {
			state[c.at+i] = s[r]
		}
	}
}

// read reads the thread's numbers of a key, or of what has as many features; others are 0.
func read[T dsl.Float](c *column, to []float32, x []T, at int, w *Delta) {
	for r := range int(w.Rows) {
		to[r] = 0
		if i, ok := c.row(r, w); ok {
			to[r] = dsl.Convert[float32](x[at+i])
		}
	}
}

// dot is a sum of products over all features, for all threads of a column.
func dot(t dsl.Thread, a, b []float32, w *Delta) float32 {
	var sum float32
	for r := range int(w.Rows) {
		sum = dsl.FMA(a[r], b[r], sum)
	}
	return dsl.GroupSum(t, sum, int(w.Lanes))
}

// GatedDelta stores the results of the gated delta rule (Yang, Kautz and Hatamizadeh, "Gated delta
// networks", 2025): at each token a head's state S, which maps keys to values, becomes
//
//	S ← α·S + β·(v − α·S·k)·kᵀ    with α = exp(gate)
//
// and the result is scale·S·q. A few threads have a column of S in registers, for all tokens of a
// sequence; a block has columns of one head. The state behind the last token is stored.
//
//kiln:kernel
//kiln:const w.Lanes=8 w.Rows=2,16 w.Whole=true,false w.Normalise=true,false w.Tiled=true,false
func GatedDelta[T dsl.Float](
	t dsl.Thread, out []T, state []float32, q, k, v []T, gate, beta []float32, table []int32,
	scale float32, w Delta,
) {
	seq := table[t.BlockZ()*Columns:]
	each := t.BlockDimX() / int(w.Lanes)
	for at := t.BlockX() * each; at < w.Value; at += t.GridDimX() * each {
		c := columnOf(t, seq, at, &w)
		s := dsl.LocalSlice[float32](w.Rows)
		query, key := dsl.LocalSlice[float32](w.Rows), dsl.LocalSlice[float32](w.Rows)
		c.load(s, state, seq, &w)
		from := c.head / (w.Heads / w.Keyed) * w.Key
		if w.Tiled {
			from = c.head % w.Keyed * w.Key
		}
		for i := int(seq[Start]); i < int(seq[End]); i++ {
			read(&c, query, q, i*w.Query+from, &w)
			read(&c, key, k, i*w.Keys+from, &w)
			inKey, inQuery := dot(t, s, key, &w), dot(t, s, query, &w)
			both := dot(t, query, key, &w)
			ofQuery, ofKey := scale, float32(1) // factors that queries and keys have
			if w.Normalise {
				ofQuery = scale / dsl.Sqrt(dot(t, query, query, &w)+deltaEps)
				ofKey = 1 / dsl.Sqrt(dot(t, key, key, &w)+deltaEps)
			}
			a := dsl.Exp(gate[i*w.Gates+c.head])
			value := dsl.Convert[float32](v[i*w.Values+c.head*w.Value+c.value])
			add := beta[i*w.Rates+c.head] * (value - a*ofKey*inKey) * ofKey
			for r := range int(w.Rows) {
				s[r] = dsl.FMA(add, key[r], a*s[r])
			}
			if c.lane == 0 && c.stored {
				y := ofQuery * dsl.FMA(add, both, a*inQuery)
				out[(i*w.Heads+c.head)*w.Value+c.value] = dsl.Convert[T](y)
			}
		}
		c.store(s, state, &w)
	}
}

// deltaEps is added to the squares of lengths, as the reference does.
const deltaEps = 1e-6

// GeneralDelta stores the results of the delta rule of RWKV-7 (Peng et al., "RWKV-7 Goose with
// expressive dynamic state evolution", 2025, equations 16 and 17), where each feature of keys fades
// by itself, and what is taken from the state is under another key than what is stored:
//
//	S ← S·diag(decay) − S·removed·(rate⊙removed)ᵀ + v·kᵀ
//
// and the result is S·q. Threads are those of [GatedDelta].
//
//kiln:kernel
//kiln:const w.Lanes=8 w.Rows=2,8 w.Whole=true,false w.Normalise=false w.Tiled=false
func GeneralDelta[T dsl.Float](
	t dsl.Thread, out []T, state []float32, q, k, v []T, decay []float32, removed, rate []T,
	table []int32, w Delta,
) {
	seq := table[t.BlockZ()*Columns:]
	each := t.BlockDimX() / int(w.Lanes)
	for at := t.BlockX() * each; at < w.Value; at += t.GridDimX() * each {
		c := columnOf(t, seq, at, &w)
		s, query := dsl.LocalSlice[float32](w.Rows), dsl.LocalSlice[float32](w.Rows)
		key, stays := dsl.LocalSlice[float32](w.Rows), dsl.LocalSlice[float32](w.Rows)
		from, to := dsl.LocalSlice[float32](w.Rows), dsl.LocalSlice[float32](w.Rows)
		c.load(s, state, seq, &w)
		first := c.head * w.Key
		for i := int(seq[Start]); i < int(seq[End]); i++ {
			read(&c, query, q, i*w.Query+first, &w)
			read(&c, key, k, i*w.Keys+first, &w)
			read(&c, stays, decay, i*w.Gates+first, &w)
			read(&c, from, removed, i*w.Removed+first, &w)
			read(&c, to, rate, i*w.Rates+first, &w)
			takes := dot(t, s, from, &w)
			value := dsl.Convert[float32](v[i*w.Values+c.head*w.Value+c.value])
			for r := range int(w.Rows) {
				s[r] = dsl.FMA(value, key[r], dsl.FMA(-takes*to[r], from[r], stays[r]*s[r]))
			}
			y := dot(t, s, query, &w)
			if c.lane == 0 && c.stored {
				out[(i*w.Heads+c.head)*w.Value+c.value] = dsl.Convert[T](y)
			}
		}
		c.store(s, state, &w)
	}
}

// Gates says what [DeltaGates] is of.
type Gates struct {
	Count, Heads int
	A, B         int // from a token to the next
}

// DeltaGates stores what heads of a [GatedDelta] forget at each token, rate·softplus(a + bias), and
// how much they store, σ(b).
//
//kiln:kernel
func DeltaGates[T dsl.Float](
	t dsl.Thread, gate, beta []float32, a, b []T, bias, rate []float32, w Gates,
) {
	for i := t.Global(); i < w.Count; i += t.GlobalSize() {
		token, head := i/w.Heads, i%w.Heads
		gate[i] = rate[head] * softplus(dsl.Convert[float32](a[token*w.A+head])+bias[head])
		beta[i] = sigmoid(dsl.Convert[float32](b[token*w.B+head]))
	}
}
