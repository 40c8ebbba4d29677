package main

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/gokiln/kiln/nn"
	"github.com/gokiln/kiln/nn/attention"
	"github.com/gokiln/kiln/nn/fn"
	"github.com/gokiln/kiln/nn/loss"
	"github.com/gokiln/kiln/nn/optim"
	"github.com/gokiln/kiln/tensor"
)

// lazily is an operation whose operands are made at its first call: those of networks are large.
func lazily(make func() (func() error, error)) func() error {
	once := sync.OnceValues(make)
	return func() error {
		op, err := once()
		if err != nil {
			return err
		}
		return op()
	}
}

// done frees the results of an operation, or returns the error that one holds.
func done(list ...*tensor.Tensor) error {
	for _, t := range list {
		if err := errors.Join(t.Err(), t.Free()); err != nil {
			return err
		}
	}
	return nil
}

// networks are attention, losses, layers and updates of networks, and a step of training.
func networks(d *tensor.Device, small bool) []work {
	list := attentions(d, small)
	list = append(list, lossOf(d, small), residualNorm(d, small), rotary(d, small), adamW(d, small))
	return append(list, trainingSteps(d, small)...)
}

// attends is the shape of an attention.
type attends struct {
	name                      string
	b, heads, shared, s, kv   int // shared is heads of keys
	d                         int
	causal, gradient, decodes bool
	window                    int // 0 for none
}

func attentions(d *tensor.Device, small bool) (list []work) {
	shapes := []attends{
		{"d128 4k", 4, 32, 32, 4096, 4096, 128, false, true, false, 0},
		{"d128 4k causal", 4, 32, 32, 4096, 4096, 128, true, true, false, 0},
		{"d128 16k causal, 32 heads on 8", 1, 32, 8, 16384, 16384, 128, true, true, false, 0},
		{"d64 1k causal", 16, 32, 32, 1024, 1024, 64, true, false, false, 0},
		{"d64 8k causal", 2, 32, 32, 8192, 8192, 64, true, true, false, 0},
		{"d256 4k causal", 2, 16, 16, 4096, 4096, 256, true, false, false, 0},
		{"d128 16k window 1024", 1, 32, 32, 16384, 16384, 128, true, false, false, 1024},
		{"decode 32k, 32 heads on 8", 1, 32, 8, 1, 32768, 128, true, false, true, 0},
		{"decode 32k, 32 heads on 8, batch 16", 16, 32, 8, 1, 32768, 128, true, false, true, 0},
	}
	dt := tensor.BF16
	if small {
		dt = tensor.F32
		shapes = []attends{
			{"d64 512 causal", 1, 8, 8, 512, 512, 64, true, true, false, 0},
			{"d64 1k, 8 heads on 2", 1, 8, 2, 1024, 1024, 64, false, true, false, 0},
			{"decode 4k, 8 heads on 2", 1, 8, 2, 1, 4096, 64, true, false, true, 0},
		}
	}
	for _, a := range shapes {
		w := work{name: fmt.Sprintf("sdpa %s %s", a.name, dt), flops: a.flops()}
		if a.decodes {
			w.flops, w.bytes = 0, float64(dt.Bytes(2*a.b*a.shared*a.kv*a.d))
		}
		w.op = lazily(func() (func() error, error) { return a.forward(d, dt), nil })
		list = append(list, w)
		if a.gradient {
			list = append(list, work{name: w.name + " gradient", flops: 2.5 * w.flops, op: lazily(func() (func() error, error) { return a.backward(d, dt) })})
		}
	}
	return list
}

// flops counts the two products of what is attended to.
func (a *attends) flops() float64 {
	pairs := float64(a.s) * float64(a.kv)
	switch {
	case a.window > 0:
		pairs = float64(a.s) * float64(a.window)
	case a.causal:
		pairs /= 2
	}
	return 4 * float64(a.b*a.heads*a.d) * pairs
}

func (a *attends) operands(d *tensor.Device, dt tensor.DType) (q, k, v *tensor.Tensor, o attention.Options) {
	draw := func(heads, tokens int) *tensor.Tensor { return tensor.Randn(d, dt, 0, 1, a.b, heads, tokens, a.d) }
	if o.Causal = a.causal; a.window > 0 {
		o.Window = &attention.Window{Left: a.window - 1, Right: 0}
	}
	return draw(a.heads, a.s), draw(a.shared, a.kv), draw(a.shared, a.kv), o
}

func (a *attends) forward(d *tensor.Device, dt tensor.DType) func() error {
	q, k, v, o := a.operands(d, dt)
	return func() error { return done(attention.SDPA(q, k, v, o)) }
}

func (a *attends) backward(d *tensor.Device, dt tensor.DType) (func() error, error) {
	q, k, v, o := a.operands(d, dt)
	vars := []*tensor.Var{tensor.NewVar(q), tensor.NewVar(k), tensor.NewVar(v)}
	y := attention.SDPA(vars[0].Tensor(), vars[1].Tensor(), vars[2].Tensor(), o)
	if err := y.Err(); err != nil {
		return nil, err
	}
	seed := y.Detach().RandnLike(0, 1)
	return func() error {
		grads, err := y.BackwardWith(seed)
		if err != nil {
			return err
		}
		return done(grads.Of(vars[0].Tensor()), grads.Of(vars[1].Tensor()), grads.Of(vars[2].Tensor()))
	}, nil
}

// lossOf is the cross-entropy of a large vocabulary and its gradient, which take three passes over the
// logits at least.
func lossOf(d *tensor.Device, small bool) work {
	rows, classes, dt := 8192, 131072, tensor.BF16
	if small {
		rows, classes, dt = 256, 32000, tensor.F32
	}
	return work{
		name:  fmt.Sprintf("cross_entropy %dx%d and gradient %s", rows, classes, dt),
		bytes: 3 * float64(dt.Bytes(rows*classes)),
		op: lazily(func() (func() error, error) {
			x := tensor.NewVar(tensor.Randn(d, dt, 0, 1, rows, classes)).Tensor()
			ids := tensor.Arange(d, int64(0), int64(rows))
			return func() error {
				grads, err := loss.CrossEntropy(x, ids, loss.CrossEntropyOptions{}).Backward()
				if err != nil {
					return err
				}
				return done(grads.Of(x))
			}, nil
		}),
	}
}

// residualNorm adds to the residual and normalises, as blocks of transformers do: two passes in, two
// out.
func residualNorm(d *tensor.Device, small bool) work {
	rows, wide, dt := 8192, 4096, tensor.BF16
	if small {
		rows, wide, dt = 1024, 1024, tensor.F32
	}
	return work{
		name:  fmt.Sprintf("residual add and rms_norm %dx%d %s", rows, wide, dt),
		bytes: 4 * float64(dt.Bytes(rows*wide)),
		op: lazily(func() (func() error, error) {
			x, r := tensor.Randn(d, dt, 0, 1, rows, wide), tensor.Randn(d, dt, 0, 1, rows, wide)
			weight := tensor.Ones(d, dt, wide)
			return func() error {
				return done(x.RMSNormResidual(r, -1, weight, 1e-6))
			}, nil
		}),
	}
}

// rotary rotates queries by their positions.
func rotary(d *tensor.Device, small bool) work {
	b, heads, time, size, dt := 4, 32, 4096, 128, tensor.BF16
	if small {
		b, heads, time, size, dt = 1, 8, 1024, 64, tensor.F32
	}
	return work{
		name:  fmt.Sprintf("rope %dx%dx%dx%d %s", b, heads, time, size, dt),
		bytes: 2 * float64(dt.Bytes(b*heads*time*size)),
		op: lazily(func() (func() error, error) {
			x := tensor.Randn(d, dt, 0, 1, b, heads, time, size)
			cos, sin := fn.RopeTable(d, dt, size, time, 0, fn.RopeScaling{})
			return func() error { return done(fn.Rope(x, cos, sin)) }, nil
		}),
	}
}

// adamW updates many parameters: each has 28 bytes of itself, its gradient and its states read or
// written.
func adamW(d *tensor.Device, small bool) work {
	tensors, each := 300, 1<<30/300
	if small {
		tensors, each = 30, 1<<23/30
	}
	return work{
		name:  fmt.Sprintf("adamw %dx%d f32", tensors, each),
		bytes: 28 * float64(tensors) * float64(each),
		op: lazily(func() (func() error, error) {
			var params []*tensor.Var
			grads := &tensor.Gradients{}
			for range tensors {
				v := tensor.NewVar(tensor.Randn(d, tensor.F32, 0, 1, each))
				grads.Set(v.Tensor(), tensor.Randn(d, tensor.F32, 0, 1, each))
				params = append(params, v)
			}
			opt := optim.NewAdamW(params, optim.AdamW{LR: 1e-4, WeightDecay: 0.1})
			return func() error { return opt.Step(grads) }, opt.Err()
		}),
	}
}

// gpt is GPT-2 as it was published, or a small one: layers with the normalisation in front.
type gpt struct {
	Token, Position *nn.Embedding
	Layers          []*gptLayer
	Norm            *nn.LayerNorm
}

type gptLayer struct {
	Norm1, Norm2        *nn.LayerNorm
	QKV, Proj, Up, Down *nn.Linear
}

func newGPT(vocabulary, context, dim, layers int) *gpt {
	g := &gpt{Token: nn.NewEmbedding(vocabulary, dim), Position: nn.NewEmbedding(context, dim), Norm: nn.NewLayerNorm(dim)}
	g.Token.Weight = nn.NewParam(nn.Normal(0, 0.02), vocabulary, dim)
	for range layers {
		g.Layers = append(g.Layers, &gptLayer{
			nn.NewLayerNorm(dim), nn.NewLayerNorm(dim),
			nn.NewLinear(dim, 3*dim), nn.NewLinear(dim, dim), nn.NewLinear(dim, 4*dim), nn.NewLinear(4*dim, dim),
		})
	}
	return g
}

// loss is that of the next tokens, from ids (batch, time).
func (g *gpt) loss(ids, next *tensor.Tensor, heads int) *tensor.Tensor {
	batch, time := ids.Size(0), ids.Size(1)
	x := g.Token.Forward(ids).Add(g.Position.Weight.Tensor().Narrow(0, 0, time))
	dim := x.Size(-1)
	z := g.norm(0).Forward(x)
	for i, l := range g.Layers {
		qkv := l.QKV.Forward(z).Reshape(batch, time, 3, heads, dim/heads).Permute(2, 0, 3, 1, 4)
		y := attention.SDPA(qkv.Get(0), qkv.Get(1), qkv.Get(2), attention.Options{Causal: true})
		z, x = l.Norm2.ForwardResidual(l.Proj.Forward(y.Transpose(1, 2).Reshape(batch, time, dim)), x)
		z, x = g.norm(i+1).ForwardResidual(l.Down.Forward(l.Up.Forward(z).Gelu()), x)
	}
	return loss.LinearCrossEntropy(z, g.Token.Weight.Tensor(), nil, next, loss.CrossEntropyOptions{})
}

// norm is in front of layer i, or behind the last one.
func (g *gpt) norm(i int) *nn.LayerNorm {
	if i == len(g.Layers) {
		return g.Norm
	}
	return g.Layers[i].Norm1
}

// trainingSteps are a step of training, forward and backward passes, clipping and the update, and the
// same as a graph, which takes the host one launch. Its operations are six times the parameters for
// each token, and those of attention.
func trainingSteps(d *tensor.Device, small bool) []work {
	vocabulary, context, dim, heads, layers, batch, dt := 50304, 1024, 768, 12, 12, 16, tensor.BF16
	if small {
		vocabulary, context, dim, heads, layers, batch, dt = 512, 64, 128, 4, 4, 8, tensor.F32
	}
	tokens := float64(batch * context)
	params := float64(vocabulary*dim + layers*12*dim*dim)
	var held int64
	step := sync.OnceValues(func() (func() error, error) {
		d.ResetPeak()
		held = d.PeakBytes() // by what others measure
		g := newGPT(vocabulary, context, dim, layers)
		if err := nn.Init(g, nn.On{Device: d, DType: dt}); err != nil {
			return nil, err
		}
		vars, err := nn.Trainable(g)
		if err != nil {
			return nil, err
		}
		opt := optim.NewAdamW(vars, optim.AdamW{LR: 3e-4, WeightDecay: 0.1})
		ids := tensor.Rand(d, tensor.F32, 0, float64(vocabulary), batch, context+1).Floor().Cast(tensor.I64)
		in, next := ids.Narrow(1, 0, context).Contiguous(), ids.Narrow(1, 1, context).Contiguous()
		return func() error {
			s := tensor.OpenScope()
			grads, err := g.loss(in.In(s), next.In(s), heads).Backward()
			if err == nil {
				_, err = opt.StepClipped(grads, 1)
			}
			if e := s.Close(); err == nil {
				err = e
			}
			return err
		}, opt.Err()
	})
	w := work{
		name:  fmt.Sprintf("gpt step of %d tokens, %d layers of %d %s", batch*context, layers, dim, dt),
		flops: tokens * (6*params + 6*float64(layers*context*dim)),
		op:    lazily(step),
		held:  func() int64 { return held },
	}
	graph := w
	graph.name = strings.Replace(w.name, "gpt step", "gpt step by a graph", 1)
	graph.op = lazily(func() (func() error, error) {
		f, err := step()
		if err != nil {
			return nil, err
		}
		if err := f(); err != nil { // which makes the states of the optimiser
			return nil, err
		}
		g, err := d.Capture(f)
		if err != nil {
			return nil, err
		}
		return g.Launch, nil
	})
	return []work{w, graph}
}
