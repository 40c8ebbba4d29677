package nn

import (
	"github.com/gokiln/kiln/tensor"
)

// Observer is called with what a weight is about to be multiplied with: the name of the weight, and
// x, whose last dimension is that of the weight. Of a weight with experts, (experts, n, k), x is
// (rows, k), sorted by experts, and ends says where the rows of each expert end, as
// [tensor.Tensor.GroupedMatMul] has it; of others ends is nil. It must not change x.
type Observer func(name string, x, ends *tensor.Tensor)

// call calls an observer if there is one.
func (o Observer) call(name string, x, ends *tensor.Tensor) {
	if o != nil {
		o(name, x, ends)
	}
}

// Observable is a layer that tells an observer what its weights are multiplied with, by the names
// that they have in the layer. Linear layers, MultiHeadAttention, MoE and the scores of
// [Embedding.Unembed] do; recurrent layers, convolutions and layers with a [WeightNorm] do not.
type Observable interface {
	Observe(f Observer) // nil: the layer tells nobody
}

// Observe has all layers of a network that are [Observable] tell f what their weights are
// multiplied with, by the names that [List] has for the weights, and returns how many layers there
// are. With nil they tell nobody again, which costs a comparison in each of them. It must not be
// called while the network runs.
//
//	var c imatrix.Collector
//	_, err := nn.Observe(net, c.Observe)
//	… // run the network over text
//	_, err = nn.Observe(net, nil)
//	m, err := c.Matrix()
func Observe(m any, f Observer) (int, error) {
	list, err := List(m)
	if err != nil {
		return 0, err
	}
	names := map[string]string{} // of parameters, by their further names
	for _, p := range list {
		for _, alias := range p.Aliases {
			names[alias] = p.Name
		}
	}
	seen := map[Observable]bool{}
	err = walk(m, func(name string, l any) {
		o, ok := l.(Observable)
		if !ok {
			return
		}
		seen[o] = true
		if f == nil {
			o.Observe(nil)
			return
		}
		o.Observe(func(weight string, x, ends *tensor.Tensor) {
			weight = join(name, weight)
			if first, ok := names[weight]; ok {
				weight = first
			}
			f(weight, x, ends)
		})
	})
	return len(seen), err
}
