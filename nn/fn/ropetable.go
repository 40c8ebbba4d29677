package fn

import (
	"cmp"
	"fmt"
	"math"

	"github.com/gokiln/kiln/tensor"
)

// RopeType is how the frequencies of rotary embeddings are scaled for more positions than a model
// was trained for.
type RopeType int

// The types, by the names that configurations have.
const (
	RopeDefault RopeType = iota // "default": not at all
	RopeLinear                  // "linear": positions over the factor (Chen et al., "Extending context window of large language models via positional interpolation", 2023)
	RopeDynamic                 // "dynamic": the base grows with the number of positions (NTK-aware, bloc97, 2023)
	RopeYarn                    // "yarn": a ramp between both, by wavelength (Peng et al., "YaRN", 2023)
	RopeLlama3                  // "llama3": a ramp by wavelength (Llama 3.1)
	RopeLong                    // "longrope": a factor for each frequency (Ding et al., "LongRoPE", 2024)
)

// ropeTypeNames are the types by the names that configurations have for them.
var ropeTypeNames = [...]string{"default", "linear", "dynamic", "yarn", "llama3", "longrope"}

// String is the name in configurations.
func (r RopeType) String() string {
	if r < 0 || int(r) >= len(ropeTypeNames) {
		return fmt.Sprintf("RopeType(%d)", int(r))
	}
	return ropeTypeNames[r]
}

// ParseRopeType returns the type of a name in configurations; "su" is an older one of "longrope".
func ParseRopeType(text string) (RopeType, error) {
	if text == "su" {
		return RopeLong, nil
	}
	for i, name := range ropeTypeNames {
		if name == text {
			return RopeType(i), nil
		}
	}
	return 0, fmt.Errorf("%w: no scaling of rotary embeddings is called %q", tensor.ErrArgument, text)
}

// MarshalText is the name in configurations.
func (r RopeType) MarshalText() ([]byte, error) {
	if r < 0 || int(r) >= len(ropeTypeNames) {
		return nil, fmt.Errorf("%w: %v", tensor.ErrArgument, r)
	}
	return []byte(r.String()), nil
}

// UnmarshalText is [ParseRopeType].
func (r *RopeType) UnmarshalText(text []byte) (err error) {
	*r, err = ParseRopeType(string(text))
	return err
}

// RopeScaling is the rope_scaling of a model's configuration. Which fields count depends on the
// type; 0 stands for what is said there. The formulas are those of the papers at the types as
// transformers has them in modeling_rope_utils.py.
type RopeScaling struct {
	Type   RopeType `json:"rope_type"`
	Factor float64  `json:"factor"` // how many times as many positions; 0 for RopeLong is the table's over OriginalMax

	// OriginalMax is how many positions the model was trained for: 0 is those of the table for
	// RopeDynamic and RopeYarn.
	OriginalMax int `json:"original_max_position_embeddings"`

	// AttentionFactor multiplies the tables of RopeYarn and RopeLong; 0 is what the papers have.
	AttentionFactor float64 `json:"attention_factor"`

	BetaFast     float64 `json:"beta_fast"`      // RopeYarn: rotations from which on nothing is scaled; 0 is 32
	BetaSlow     float64 `json:"beta_slow"`      // RopeYarn: rotations up to which all is; 0 is 1
	MScale       float64 `json:"mscale"`         // RopeYarn: with MScaleAllDim, of the attention factor
	MScaleAllDim float64 `json:"mscale_all_dim"` //
	NoTruncate   bool    `json:"-"`              // RopeYarn: the ends of the ramp are not whole dimensions

	LowFreq  float64 `json:"low_freq_factor"`  // RopeLlama3; 0 is 1
	HighFreq float64 `json:"high_freq_factor"` // RopeLlama3; 0 is 4

	Short []float64 `json:"short_factor"` // RopeLong: a divisor for each frequency, up to OriginalMax positions
	Long  []float64 `json:"long_factor"`  // RopeLong: and beyond
}

// RopeTable returns the cosines and the sines for [Rope] of dim elements at positions 0 to
// positions-1, of shape (positions, dim/2): of the position times base^(-2i/dim), scaled. They are
// computed in float64. A base of 0 is 10000.
func RopeTable(d *tensor.Device, dt tensor.DType, dim, positions int, base float64, s RopeScaling) (cos, sin *tensor.Tensor) {
	if base == 0 {
		base = 10000
	}
	freqs, factor, err := s.Frequencies(dim, positions, base)
	if err != nil {
		bad := tensor.Fail("rope_table", err)
		return bad, bad
	}
	c, n := make([]float64, 0, positions*dim/2), make([]float64, 0, positions*dim/2)
	for p := range positions {
		for _, f := range freqs {
			y, x := math.Sincos(float64(p) * f)
			c, n = append(c, x*factor), append(n, y*factor)
		}
	}
	return fromDoubles(d, dt, c, positions, dim/2), fromDoubles(d, dt, n, positions, dim/2)
}

// fromDoubles returns numbers in a type, to which they are rounded once where the device has
// float64.
func fromDoubles(d *tensor.Device, dt tensor.DType, list []float64, shape ...int) *tensor.Tensor {
	if dt != tensor.F32 && d.Supports(tensor.F64) {
		return tensor.From(d, list, shape...).Cast(dt)
	}
	narrow := make([]float32, len(list))
	for i, x := range list {
		narrow[i] = float32(x)
	}
	return tensor.From(d, narrow, shape...).Cast(dt)
}

// Frequencies returns the dim/2 angles from one position to the next for tables of so many
// positions, and what cosines and sines are multiplied by.
func (s *RopeScaling) Frequencies(dim, positions int, base float64) (freqs []float64, factor float64, err error) {
	if dim < 2 || dim%2 != 0 || positions < 0 || !(base > 0) {
		return nil, 0, fmt.Errorf("%w: %d elements at %d positions with base %v", tensor.ErrArgument, dim, positions, base)
	}
	if err := s.check(dim); err != nil {
		return nil, 0, err
	}
	original := s.OriginalMax
	if original == 0 {
		original = positions
	}
	freqs = plainFrequencies(dim, base)
	switch s.Type {
	case RopeLinear:
		for i := range freqs {
			freqs[i] /= s.Factor
		}
	case RopeDynamic:
		longer := float64(max(positions, original)) / float64(original)
		grown := base * math.Pow(s.Factor*longer-(s.Factor-1), float64(dim)/float64(dim-2))
		freqs = plainFrequencies(dim, grown)
	case RopeYarn:
		s.yarn(freqs, base, float64(original))
		return freqs, s.yarnFactor(), nil
	case RopeLlama3:
		s.llama3(freqs)
	case RopeLong:
		list := s.Short
		if positions > original {
			list = s.Long
		}
		for i := range freqs {
			freqs[i] /= list[i]
		}
		return freqs, s.longFactor(positions), nil
	}
	return freqs, 1, nil
}

// plainFrequencies are base^(-2i/dim).
func plainFrequencies(dim int, base float64) []float64 {
	freqs := make([]float64, dim/2)
	for i := range freqs {
		freqs[i] = math.Pow(base, -2*float64(i)/float64(dim))
	}
	return freqs
}

// check reports fields without which a type has no meaning.
func (s *RopeScaling) check(dim int) error {
	switch s.Type {
	case RopeDefault:
	case RopeLinear, RopeDynamic, RopeYarn, RopeLlama3:
		if !(s.Factor > 0) {
			return fmt.Errorf("%w: %v scaling with factor %v, want more than 0", tensor.ErrArgument, s.Type, s.Factor)
		}
		if s.Type == RopeDynamic && dim == 2 {
			return fmt.Errorf("%w: %v scaling of 2 elements", tensor.ErrArgument, s.Type)
		}
	case RopeLong:
		if len(s.Short) != dim/2 || len(s.Long) != dim/2 {
			return fmt.Errorf("%w: %v scaling with %d short and %d long factors for %d frequencies", tensor.ErrShape, s.Type, len(s.Short), len(s.Long), dim/2)
		}
	default:
		return fmt.Errorf("%w: %v", tensor.ErrArgument, s.Type)
	}
	if (s.Type == RopeLlama3 || s.Type == RopeLong) && s.OriginalMax <= 0 {
		return fmt.Errorf("%w: %v scaling without the positions of training", tensor.ErrArgument, s.Type)
	}
	return nil
}

// yarn scales what rotates less than BetaSlow times in the positions of training by the factor,
// nothing that rotates more than BetaFast times, and mixes in between.
func (s *RopeScaling) yarn(freqs []float64, base, original float64) {
	dim := float64(2 * len(freqs))
	turns := func(n float64) float64 { return dim * math.Log(original/(n*2*math.Pi)) / (2 * math.Log(base)) }
	low, high := turns(cmp.Or(s.BetaFast, 32)), turns(cmp.Or(s.BetaSlow, 1))
	if !s.NoTruncate {
		low, high = math.Floor(low), math.Ceil(high)
	}
	low, high = max(low, 0), min(high, dim-1)
	if low == high {
		high += 0.001 // as the paper's program has it
	}
	for i, f := range freqs {
		ramp := min(max((float64(i)-low)/(high-low), 0), 1)
		freqs[i] = f/s.Factor*ramp + f*(1-ramp)
	}
}

// yarnFactor is that of the paper, section 3.4.
func (s *RopeScaling) yarnFactor() float64 {
	scale := func(m float64) float64 {
		if s.Factor <= 1 {
			return 1
		}
		return 0.1*m*math.Log(s.Factor) + 1
	}
	switch {
	case s.AttentionFactor != 0:
		return s.AttentionFactor
	case s.MScale != 0 && s.MScaleAllDim != 0:
		return scale(s.MScale) / scale(s.MScaleAllDim)
	}
	return scale(1)
}

// llama3 scales long wavelengths by the factor, none that are short, and mixes in between.
func (s *RopeScaling) llama3(freqs []float64) {
	low, high, original := cmp.Or(s.LowFreq, 1), cmp.Or(s.HighFreq, 4), float64(s.OriginalMax)
	for i, f := range freqs {
		wave := 2 * math.Pi / f
		switch smooth := (original/wave - low) / (high - low); {
		case wave < original/high:
		case wave > original/low:
			freqs[i] = f / s.Factor
		default:
			freqs[i] = (1-smooth)*f/s.Factor + smooth*f
		}
	}
}

// longFactor is √(1 + log(factor)/log(original)) of more positions than those of training.
func (s *RopeScaling) longFactor(positions int) float64 {
	factor := s.Factor
	if factor == 0 {
		factor = float64(positions) / float64(s.OriginalMax)
	}
	switch {
	case s.AttentionFactor != 0:
		return s.AttentionFactor
	case factor <= 1:
		return 1
	}
	return math.Sqrt(1 + math.Log(factor)/math.Log(float64(s.OriginalMax)))
}
