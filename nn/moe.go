package nn

import (
	"cmp"
	"fmt"
	"math"

	"github.com/gokiln/kiln/tensor"
)

// MoEOptions are how a [MoE] routes. The zero value but for TopK has softmax scores, of which the
// chosen ones are weights as they are.
type MoEOptions struct {
	TopK      int               // experts for each token
	Sigmoid   bool              // scores are σ of the router's products, not a softmax of all
	Normalise bool              // weights of a token add up to 1
	Scale     float64           // weights are multiplied by it, 0 for 1
	Bias      bool              // a number for each expert is added to scores in choosing, and not in weights (DeepSeek-V3)
	Groups    int               // experts are in so many groups, and tokens go to the best of them only; 0 for one
	TopGroups int               // how many
	GroupTop  int               // a group is as good as the sum of so many of its best scores, 0 for 1
	Act       tensor.Activation // 0 for SiLU

	// Gated makes of the products of gates and of the others what goes on, in place of act(gate)·up.
	// It may be nil. Without gates, these are nil.
	Gated func(gate, up *tensor.Tensor) *tensor.Tensor
}

// MoE is a mixture of experts: each token goes to a few of many gated feed-forward networks
// (Shazeer et al., 2017), whose results are added up by weights. The products of all experts are
// one grouped product. Without GateProj experts are down(act(up(x))). With LatentIn and LatentOut
// they work on fewer features than tokens have.
type MoE struct {
	Gate       *Linear    // the router: (experts, embed)
	Correction *Param     `nn:"gate.e_score_correction_bias"` // (experts), a buffer, or nil
	GateProj   *Param     `nn:"experts.gate_proj"`            // (experts, width, embed), or nil
	UpProj     *Param     `nn:"experts.up_proj"`              // (experts, width, embed)
	DownProj   *Param     `nn:"experts.down_proj"`            // (experts, embed, width)
	GateBias   *Param     `nn:"experts.gate_proj_bias"`       // (experts, width), or nil
	UpBias     *Param     `nn:"experts.up_proj_bias"`         // (experts, width), or nil
	DownBias   *Param     `nn:"experts.down_proj_bias"`       // (experts, embed), or nil
	Shared     Layer      `nn:"shared_experts"`               // for all tokens, or nil
	LatentIn   *Linear    `nn:"latent_in"`                    // in front of experts, or nil
	LatentOut  *Linear    `nn:"latent_out"`                   // behind them, or nil
	Options    MoEOptions `nn:"-"`

	observer Observer
}

// Observe makes the layer tell f what the weights of experts are multiplied with: see [Observable].
func (m *MoE) Observe(f Observer) { changed(); m.observer = f }

// NewMoE returns a layer of embed features with so many experts, each with width features inside.
func NewMoE(embed, width, experts int, o MoEOptions) *MoE {
	m := &MoE{
		Gate:     NewLinearNoBias(embed, experts),
		GateProj: NewParam(within(float64(embed)), experts, width, embed),
		UpProj:   NewParam(within(float64(embed)), experts, width, embed),
		DownProj: NewParam(within(float64(width)), experts, embed, width),
		Options:  o,
	}
	if o.Bias {
		m.Correction = NewBuffer(Zeros, experts).Wide()
	}
	return m
}

// Routing is where tokens go.
type Routing struct {
	IDs     *tensor.Tensor // (tokens, TopK), the experts of each
	Weights *tensor.Tensor // (tokens, TopK), of the type of the tokens
	Scores  *tensor.Tensor // (tokens, experts), in float32, or float64 for that type
}

// Route says which experts tokens, (tokens, embed), go to.
func (m *MoE) Route(x *tensor.Tensor) Routing {
	scores := widened(m.Gate.Forward(x))
	if scores.Err() == nil && (m.Options.TopK < 1 || m.Options.TopK > scores.Size(-1)) {
		scores = tensor.Fail("moe", fmt.Errorf("%w: %d of %d experts", tensor.ErrArgument, m.Options.TopK, scores.Size(-1)))
	}
	if m.Options.Sigmoid {
		scores = scores.Sigmoid()
	} else {
		scores = scores.Softmax(-1)
	}
	if scores.Err() != nil {
		return Routing{IDs: scores, Weights: scores, Scores: scores}
	}
	choice := scores.Detach()
	if m.Correction != nil {
		choice = choice.Add(widened(m.Correction.Tensor()))
	}
	_, ids := m.bestGroups(choice).TopK(m.Options.TopK, -1, false)
	weights := scores.Gather(ids, -1)
	if m.Options.Normalise {
		weights = weights.Div(weights.SumKeep(-1))
	}
	if m.Options.Scale != 0 {
		weights = weights.MulScalar(m.Options.Scale)
	}
	return Routing{IDs: ids, Weights: narrowed(weights, x), Scores: scores}
}

// bestGroups is the scores with −Inf for experts that are not in one of the best groups.
func (m *MoE) bestGroups(scores *tensor.Tensor) *tensor.Tensor {
	n, o := m.Options.Groups, &m.Options
	if n <= 1 || scores.Err() != nil {
		return scores
	}
	tokens, experts := scores.Size(0), scores.Size(1)
	if experts%n != 0 || o.TopGroups < 1 || o.TopGroups > n || o.GroupTop > experts/n || o.TopK > o.TopGroups*(experts/n) {
		return tensor.Fail("moe", fmt.Errorf("%w: %d experts of %d of %d groups of %d", tensor.ErrArgument, o.TopK, o.TopGroups, n, experts/n))
	}
	best, _ := scores.Reshape(tokens, n, experts/n).TopK(max(o.GroupTop, 1), -1, false)
	_, groups := best.Sum(-1).TopK(o.TopGroups, -1, false)
	in := tensor.Zeros(scores.Device(), tensor.U8, tokens, n)
	in = in.Scatter(groups, tensor.Ones(scores.Device(), tensor.U8, tokens, o.TopGroups), -1)
	in = in.Unsqueeze(-1).Expand(tokens, n, experts/n).Reshape(tokens, experts)
	return scores.MaskedFill(in.LogicalNot(), math.Inf(-1))
}

// Forward returns (…, embed) of (…, embed).
func (m *MoE) Forward(x *tensor.Tensor) *tensor.Tensor {
	y, _ := m.Run(x)
	return y
}

// Run is [MoE.Forward], and where the tokens went: see [Routing.Balance].
func (m *MoE) Run(x *tensor.Tensor) (*tensor.Tensor, Routing) {
	if bad := failure("moe", x); bad != nil {
		return bad, Routing{IDs: bad, Weights: bad, Scores: bad}
	}
	s, d := x.Shape(), m.Gate.Weight.Shape()[1]
	if len(s) == 0 || s[len(s)-1] != d {
		bad := tensor.Fail("moe", fmt.Errorf("%w: %v, want a last dimension of %d", tensor.ErrShape, s, d))
		return bad, Routing{IDs: bad, Weights: bad, Scores: bad}
	}
	flat := x.Reshape(x.Count()/d, d)
	r := m.Route(flat)
	if r.IDs.Err() != nil {
		return r.IDs, r
	}
	y := flat
	if m.LatentIn != nil {
		y = m.LatentIn.Forward(y)
	}
	y = m.experts(y, r)
	if m.LatentOut != nil {
		y = m.LatentOut.Forward(y)
	}
	if m.Shared != nil {
		y = y.Add(m.Shared.Forward(flat))
	}
	return y.Reshape(s...), r
}

// experts has tokens sorted by experts, multiplied in groups, put back in order and added up.
// Quantized weights do the first three by themselves, unless an observer is to see rows sorted.
func (m *MoE) experts(x *tensor.Tensor, r Routing) *tensor.Tensor {
	if x.Err() != nil {
		return x
	}
	tokens, k := r.IDs.Size(0), r.IDs.Size(1)
	if m.observer == nil {
		if y := m.quantized(x, r); y != nil {
			return y
		}
	}
	of := r.IDs.FlattenAll()
	order := of.ArgSort(0, false)
	ends := of.Bincount(m.UpProj.Shape()[0]).CumSum(0)
	rows := x.IndexSelect(order.Cast(tensor.I64).DivScalar(float64(k)), 0)
	sorted := of.IndexSelect(order, 0)
	var gate *tensor.Tensor
	if m.GateProj != nil {
		m.observer.call("experts.gate_proj", rows, ends)
		gate = shifted(rows.GroupedMatMul(m.GateProj.Tensor().T(), ends), m.GateBias, sorted)
	}
	m.observer.call("experts.up_proj", rows, ends)
	h := m.gated(gate, shifted(rows.GroupedMatMul(m.UpProj.Tensor().T(), ends), m.UpBias, sorted))
	m.observer.call("experts.down_proj", h, ends)
	y := shifted(h.GroupedMatMul(m.DownProj.Tensor().T(), ends), m.DownBias, sorted)
	y = y.IndexSelect(order.ArgSort(0, false), 0)
	return y.Reshape(tokens, k, x.Size(1)).Mul(r.Weights.Unsqueeze(-1)).Sum(1)
}

// gated is what experts make of two products, or of one without gates.
func (m *MoE) gated(gate, up *tensor.Tensor) *tensor.Tensor {
	switch {
	case m.Options.Gated != nil:
		return m.Options.Gated(gate, up)
	case gate == nil:
		return activate(up, cmp.Or(m.Options.Act, tensor.Silu))
	}
	return activate(gate, cmp.Or(m.Options.Act, tensor.Silu)).Mul(up)
}

// shifted is y with the bias, which may be nil, of the expert of each row.
func shifted(y *tensor.Tensor, bias *Param, ids *tensor.Tensor) *tensor.Tensor {
	if bias == nil {
		return y
	}
	return y.Add(narrowed(bias.Tensor().Embedding(ids), y))
}

// quantized is experts with weights that are all quantized, nil with others.
func (m *MoE) quantized(x *tensor.Tensor, r Routing) *tensor.Tensor {
	var of [3]QuantizedExperts
	for i, p := range []*Param{m.GateProj, m.UpProj, m.DownProj} {
		q, ok := p.Quantized().(QuantizedExperts)
		if !ok && p != nil {
			return nil
		}
		of[i] = q
	}
	x = x.Unsqueeze(1)
	var gate *tensor.Tensor
	if m.GateProj != nil {
		gate = shifted(of[0].IndexedMoE(x, r.IDs), m.GateBias, r.IDs)
	}
	h := m.gated(gate, shifted(of[1].IndexedMoE(x, r.IDs), m.UpBias, r.IDs))
	y := shifted(of[2].IndexedMoE(h, r.IDs), m.DownBias, r.IDs)
	return y.Mul(r.Weights.Unsqueeze(-1)).Sum(1)
}

// Balance is a loss that is 1 where experts are chosen equally often, and larger where they are
// not: the number of experts times the sum of how often each is chosen times its mean score (Fedus,
// Zoph and Shazeer, 2022, equation 4, for several experts of a token).
func (r Routing) Balance() *tensor.Tensor {
	if r.Scores.Err() != nil || r.IDs.Err() != nil {
		return r.Scores
	}
	n := r.Scores.Size(-1)
	often := r.IDs.FlattenAll().Bincount(n).Cast(r.Scores.DType()).DivScalar(float64(max(r.IDs.Count(), 1)))
	return r.Scores.Mean(0).Mul(often).Sum().MulScalar(float64(n))
}
