package models

import (
	"fmt"

	"github.com/gokiln/kiln/nn"
	"github.com/gokiln/kiln/tensor"
)

// New returns a model of a configuration with random weights, to train it or to measure how fast
// its shapes are. It has no tokenizer.
func New(c *Config, o Options) (m *LM, err error) {
	a, err := architectureOf(c)
	if err != nil {
		return nil, fmt.Errorf("models: new: %w", err)
	}
	m = &LM{Config: c, Device: o.Device, DType: o.DType}
	if m.Device == nil {
		if m.Device, err = tensor.Open("auto"); err != nil {
			return nil, fmt.Errorf("models: new: %w", err)
		}
	}
	if m.DType == 0 {
		m.DType = c.autoDType(m.Device)
	}
	if m.Net, err = a.build(c, a.traits(c)); err != nil {
		return nil, fmt.Errorf("models: new: %w", err)
	}
	if err := nn.Init(m.Net, nn.On{Device: m.Device, DType: m.DType}); err != nil {
		return nil, fmt.Errorf("models: new: %w", err)
	}
	return m, nil
}
