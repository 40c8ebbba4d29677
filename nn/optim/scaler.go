package optim

import (
	"cmp"
	"fmt"

	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tensor"
)

// LossScaler multiplies a loss so that gradients of type F16 are not rounded to 0, and divides what
// updates read of them (Micikevicius et al., "Mixed Precision Training", 2018, section 3.2). The
// factor grows as long as no gradient is infinite or NaN; where one is, the step is left out and
// the factor falls:
//
//	scaler := optim.LossScaler{}
//	grads, err := scaler.Scale(loss).Backward() // the loss is of type F32
//	done, err := scaler.Step(opt, grads)
//
// The zero value is ready; a 0 stands for what is said. The gradients of a step are on one device.
// Checkpoints take it: see [LossScaler.State].
type LossScaler struct {
	Factor   float64 // now; 0 stands for 65536
	Growth   float64 // 0 stands for 2
	Backoff  float64 // 0 stands for 0.5
	Interval int     // so many steps without infinities, and the factor grows; 0 stands for 2000
	Good     int     // steps since the factor changed
	Skipped  int     // steps that were left out

	device *tensor.Device // of the last step
}

// scalerState is the name of a scaler's numbers.
const scalerState = "scaler"

// State returns the factor and the counts as a tensor, for [LossScaler.Load]: none before the first
// step.
func (s *LossScaler) State() (map[string]*tensor.Tensor, error) {
	if s.device == nil {
		return nil, nil
	}
	t := tensor.From(s.device, []float64{s.Factor, float64(s.Good), float64(s.Skipped)})
	return map[string]*tensor.Tensor{scalerState: t}, t.Err()
}

// Load goes on where the scaler was that State was asked.
func (s *LossScaler) Load(state map[string]*tensor.Tensor) error {
	if len(state) == 0 {
		s.Factor, s.Good, s.Skipped = 0, 0, 0
		return nil
	}
	t := state[scalerState]
	if t == nil || len(state) != 1 || t.Err() == nil && !t.Shape().Equal(tensor.Shape{3}) {
		return fmt.Errorf("loss scaler: load: %w: want %q of shape [3]", tensor.ErrArgument, scalerState)
	}
	numbers, err := t.Float64s()
	if err != nil {
		return fmt.Errorf("loss scaler: load: %w", err)
	}
	s.device = t.Device()
	s.Factor, s.Good, s.Skipped = numbers[0], int(numbers[1]), int(numbers[2])
	return nil
}

// factor is the factor now.
func (s *LossScaler) factor() float64 { return or(s.Factor, 65536) }

// Scale returns the loss times the factor. A graph cannot hold it, as the factor changes: it is an
// error of kind [runtime.ErrCapturing] there.
func (s *LossScaler) Scale(loss *tensor.Tensor) *tensor.Tensor {
	if loss != nil && loss.Err() == nil && loss.Device().Stream().Capturing() {
		return tensor.Fail("loss scaler", fmt.Errorf("%w: the factor would be the same in each launch", runtime.ErrCapturing))
	}
	return loss.MulScalar(s.factor())
}

// Step is [Optimizer.Step] with the gradients of a scaled loss. It reports whether the step was
// made: it waits for what the device says of the gradients.
func (s *LossScaler) Step(opt *Optimizer, grads *tensor.Gradients) (done bool, err error) {
	_, done, err = s.step(opt, grads, 0)
	return done, err
}

// StepClipped is [Optimizer.StepClipped] with the gradients of a scaled loss: the norm is that of
// the gradients of the loss itself, and infinite or NaN where the step was not made.
func (s *LossScaler) StepClipped(opt *Optimizer, grads *tensor.Gradients, most float64) (norm *tensor.Tensor, done bool, err error) {
	return s.step(opt, grads, most)
}

// step makes a step, clipped if most is not 0.
func (s *LossScaler) step(opt *Optimizer, grads *tensor.Gradients, most float64) (norm *tensor.Tensor, done bool, err error) {
	if opt.err != nil {
		return nil, false, opt.err
	}
	vars := opt.Params()
	list, err := gradientsOf(opt.name, grads, vars)
	if err != nil {
		return nil, false, err
	}
	if s.device, err = deviceOf(list); err != nil {
		return nil, false, fmt.Errorf("%s: loss scaler: %w", opt.name, err)
	}
	dev := cmp.Or(s.device, vars[0].Tensor().Device())
	finite, err := allFinite(dev, list)
	if err != nil {
		return nil, false, fmt.Errorf("%s: %w", opt.name, err)
	}
	by := 1 / s.factor()
	if most == 0 {
		if finite {
			err = opt.stepScaled(grads, tensor.From(dev, []float32{float32(by)}))
		}
	} else {
		var scale *tensor.Tensor
		norm, scale, err = normOf(opt.name, vars, list, most, by)
		if err == nil && finite {
			err = opt.stepScaled(grads, scale)
		}
	}
	if err != nil {
		return nil, false, err
	}
	s.note(finite)
	return norm, finite, nil
}

// note changes the factor after a step.
func (s *LossScaler) note(finite bool) {
	s.Factor = s.factor()
	if !finite {
		s.Factor, s.Good = s.Factor*or(s.Backoff, 0.5), 0
		s.Skipped++
		return
	}
	if s.Good++; s.Good >= cmp.Or(s.Interval, 2000) {
		s.Factor, s.Good = s.Factor*or(s.Growth, 2), 0
	}
}

// deviceOf returns the device of gradients, nil if there are none.
func deviceOf(list []*tensor.Tensor) (d *tensor.Device, err error) {
	for i, g := range list {
		switch {
		case g == nil:
		case d == nil:
			d = g.Device()
		case g.Device() != d:
			return nil, fmt.Errorf("%w: gradients on %s, and that of parameter %d on %s", tensor.ErrDevice, d, i, g.Device())
		}
	}
	return d, nil
}

// allFinite reports whether no gradient, all of which are on one device, has an element that is
// infinite or NaN. It waits for them.
func allFinite(dev *tensor.Device, list []*tensor.Tensor) (bool, error) {
	parts, blocks, err := sums(notFiniteFn, dev, list)
	if err != nil || blocks == 0 {
		return err == nil, err
	}
	found, err := parts.Sum().Float64s()
	return err == nil && found[0] == 0, err
}
