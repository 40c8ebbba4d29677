package nn

import (
	"cmp"

	"github.com/gokiln/kiln/tensor"
)

// TransformerOptions are how the layers of a transformer are made. The zero value is PyTorch's
// default but for dropout, whose is 0.1.
type TransformerOptions struct {
	Width     int                                   // features between the two linear layers, 0 for 2048
	Act       func(x *tensor.Tensor) *tensor.Tensor // between them, nil for ReLU
	NormFirst bool                                  // norms in front of attention and linear layers, not behind the sums
	NoBias    bool                                  // of linear layers, attention and norms
	Dropout   float64                               // the share of numbers that is set to zero in training
	Norm      func(embed int) Layer                 // what makes norms, nil for LayerNorm
}

// norm makes a normalisation.
func (o *TransformerOptions) norm(embed int) Layer {
	switch {
	case o.Norm != nil:
		return o.Norm(embed)
	case o.NoBias:
		return NewLayerNormNoBias(embed)
	}
	return NewLayerNorm(embed)
}

// attention makes an attention.
func (o *TransformerOptions) attention(embed, heads int) *MultiHeadAttention {
	return NewMultiHeadAttention(embed, heads, AttentionOptions{NoBias: o.NoBias, Dropout: o.Dropout})
}

// linear makes a linear layer.
func (o *TransformerOptions) linear(in, out int) *Linear {
	if o.NoBias {
		return NewLinearNoBias(in, out)
	}
	return NewLinear(in, out)
}

// act is the activation.
func (o *TransformerOptions) act() func(x *tensor.Tensor) *tensor.Tensor {
	if o.Act == nil {
		return (*tensor.Tensor).Relu
	}
	return o.Act
}

// TransformerEncoderLayer is attention of a sequence to itself and two linear layers, each added to
// what it was given: PyTorch's TransformerEncoderLayer with batch_first, under its names.
type TransformerEncoderLayer struct {
	SelfAttn         *MultiHeadAttention
	Linear1, Linear2 *Linear
	Norm1, Norm2     Layer
	Dropout          Dropout
	Act              func(x *tensor.Tensor) *tensor.Tensor
	NormFirst        bool
}

// NewTransformerEncoderLayer returns a layer of embed features in so many heads.
func NewTransformerEncoderLayer(embed, heads int, o TransformerOptions) *TransformerEncoderLayer {
	width := cmp.Or(o.Width, 2048)
	return &TransformerEncoderLayer{
		SelfAttn: o.attention(embed, heads),
		Linear1:  o.linear(embed, width), Linear2: o.linear(width, embed),
		Norm1: o.norm(embed), Norm2: o.norm(embed),
		Dropout: Dropout{P: o.Dropout}, Act: o.act(), NormFirst: o.NormFirst,
	}
}

// Forward returns (b, t, embed) of (b, t, embed), where all attend to all.
func (l *TransformerEncoderLayer) Forward(x *tensor.Tensor) *tensor.Tensor {
	return l.Encode(x, Attend{})
}

// Encode is [TransformerEncoderLayer.Forward] with masks.
func (l *TransformerEncoderLayer) Encode(x *tensor.Tensor, o Attend) *tensor.Tensor {
	return l.encode(stream{x: x}, o).total()
}

func (l *TransformerEncoderLayer) encode(s stream, o Attend) stream {
	o.Weights = false
	s = s.through(l.Norm1, l.NormFirst, &l.Dropout, func(x *tensor.Tensor) *tensor.Tensor {
		y, _ := l.SelfAttn.Attend(x, x, x, o)
		return y
	})
	return s.through(l.Norm2, l.NormFirst, &l.Dropout, func(x *tensor.Tensor) *tensor.Tensor {
		return l.Linear2.Forward(l.Dropout.Forward(l.Act(l.Linear1.Forward(x))))
	})
}

// stream is what goes from layer to layer: x + branch. The sum is for the next norm to compute.
type stream struct{ x, branch *tensor.Tensor } // the branch may be nil

// total is x + branch.
func (s stream) total() *tensor.Tensor {
	if s.branch == nil {
		return s.x
	}
	return s.x.Add(s.branch)
}

// normed returns the norm of x + branch, and the sum.
func (s stream) normed(norm Layer) (y, sum *tensor.Tensor) {
	type residual interface {
		ForwardResidual(x, residual *tensor.Tensor) (y, sum *tensor.Tensor)
	}
	if n, ok := norm.(residual); ok && s.branch != nil {
		return n.ForwardResidual(s.branch, s.x)
	}
	sum = s.total()
	return norm.Forward(sum), sum
}

// through is x + f(norm(x)), or norm(x + f(x)), where x is the sum.
func (s stream) through(norm Layer, first bool, drop *Dropout, f ModuleFunc) stream {
	if first {
		y, sum := s.normed(norm)
		return stream{sum, drop.Forward(f(y))}
	}
	x := s.total()
	y, _ := stream{x, drop.Forward(f(x))}.normed(norm)
	return stream{x: y}
}

// TransformerDecoderLayer is attention of a sequence to itself, attention to that of an encoder,
// and two linear layers, each added to what it was given: PyTorch's TransformerDecoderLayer with
// batch_first, under its names.
type TransformerDecoderLayer struct {
	SelfAttn            *MultiHeadAttention
	MultiheadAttn       *MultiHeadAttention
	Linear1, Linear2    *Linear
	Norm1, Norm2, Norm3 Layer
	Dropout             Dropout
	Act                 func(x *tensor.Tensor) *tensor.Tensor
	NormFirst           bool
}

// NewTransformerDecoderLayer returns a layer of embed features in so many heads.
func NewTransformerDecoderLayer(embed, heads int, o TransformerOptions) *TransformerDecoderLayer {
	width := cmp.Or(o.Width, 2048)
	return &TransformerDecoderLayer{
		SelfAttn: o.attention(embed, heads), MultiheadAttn: o.attention(embed, heads),
		Linear1: o.linear(embed, width), Linear2: o.linear(width, embed),
		Norm1: o.norm(embed), Norm2: o.norm(embed), Norm3: o.norm(embed),
		Dropout: Dropout{P: o.Dropout}, Act: o.act(), NormFirst: o.NormFirst,
	}
}

// Decode returns (b, t, embed) of (b, t, embed) and memory, (b, s, embed), what an encoder
// returned. Self says what the sequence attends to in itself, which is causal most often, and cross
// what in the memory.
func (l *TransformerDecoderLayer) Decode(x, memory *tensor.Tensor, self, cross Attend) *tensor.Tensor {
	return l.decode(stream{x: x}, memory, self, cross).total()
}

func (l *TransformerDecoderLayer) decode(s stream, memory *tensor.Tensor, self, cross Attend) stream {
	self.Weights, cross.Weights = false, false
	s = s.through(l.Norm1, l.NormFirst, &l.Dropout, func(x *tensor.Tensor) *tensor.Tensor {
		y, _ := l.SelfAttn.Attend(x, x, x, self)
		return y
	})
	s = s.through(l.Norm2, l.NormFirst, &l.Dropout, func(x *tensor.Tensor) *tensor.Tensor {
		y, _ := l.MultiheadAttn.Attend(x, memory, memory, cross)
		return y
	})
	return s.through(l.Norm3, l.NormFirst, &l.Dropout, func(x *tensor.Tensor) *tensor.Tensor {
		return l.Linear2.Forward(l.Dropout.Forward(l.Act(l.Linear1.Forward(x))))
	})
}

// TransformerEncoder is layers one behind the other.
type TransformerEncoder struct {
	Layers []*TransformerEncoderLayer
	Norm   Layer // behind the last one, or nil
}

// NewTransformerEncoder returns n layers of embed features in so many heads, without a norm behind
// them.
func NewTransformerEncoder(n, embed, heads int, o TransformerOptions) *TransformerEncoder {
	e := &TransformerEncoder{}
	for range n {
		e.Layers = append(e.Layers, NewTransformerEncoderLayer(embed, heads, o))
	}
	return e
}

// Forward returns (b, t, embed) of (b, t, embed), where all attend to all.
func (e *TransformerEncoder) Forward(x *tensor.Tensor) *tensor.Tensor { return e.Encode(x, Attend{}) }

// Encode is [TransformerEncoder.Forward] with masks, the same in all layers.
func (e *TransformerEncoder) Encode(x *tensor.Tensor, o Attend) *tensor.Tensor {
	s := stream{x: x}
	for _, l := range e.Layers {
		s = l.encode(s, o)
	}
	return s.last(e.Norm)
}

// last is the norm of x + branch, or the sum without a norm.
func (s stream) last(norm Layer) *tensor.Tensor {
	if norm == nil {
		return s.total()
	}
	y, _ := s.normed(norm)
	return y
}

// TransformerDecoder is layers one behind the other.
type TransformerDecoder struct {
	Layers []*TransformerDecoderLayer
	Norm   Layer // behind the last one, or nil
}

// NewTransformerDecoder returns n layers of embed features in so many heads, without a norm behind
// them.
func NewTransformerDecoder(n, embed, heads int, o TransformerOptions) *TransformerDecoder {
	d := &TransformerDecoder{}
	for range n {
		d.Layers = append(d.Layers, NewTransformerDecoderLayer(embed, heads, o))
	}
	return d
}

// Decode is [TransformerDecoderLayer.Decode] of all layers.
func (d *TransformerDecoder) Decode(x, memory *tensor.Tensor, self, cross Attend) *tensor.Tensor {
	s := stream{x: x}
	for _, l := range d.Layers {
		s = l.decode(s, memory, self, cross)
	}
	return s.last(d.Norm)
}

// Transformer is an encoder and a decoder, each with a norm behind its layers: PyTorch's
// Transformer with batch_first.
type Transformer struct {
	Encoder *TransformerEncoder
	Decoder *TransformerDecoder
}

// NewTransformer returns an encoder and a decoder of so many layers each.
func NewTransformer(encoders, decoders, embed, heads int, o TransformerOptions) *Transformer {
	t := &Transformer{Encoder: NewTransformerEncoder(encoders, embed, heads, o), Decoder: NewTransformerDecoder(decoders, embed, heads, o)}
	t.Encoder.Norm, t.Decoder.Norm = o.norm(embed), o.norm(embed)
	return t
}

// Run returns (b, t, embed) of the encoder's sequence, (b, s, embed), and the decoder's, (b, t,
// embed). Enc, self and cross say what the encoder attends to, what the decoder attends to in
// itself, and what in the encoder's result.
func (t *Transformer) Run(src, tgt *tensor.Tensor, enc, self, cross Attend) *tensor.Tensor {
	return t.Decoder.Decode(tgt, t.Encoder.Encode(src, enc), self, cross)
}
