// Package optim has optimisers: they change variables by their gradients, each by one kernel that
// updates the variable and its states in place.
//
//	opt := optim.NewAdamW(params, optim.AdamW{LR: 1e-3, WeightDecay: 0.01}) // params: []*tensor.Var
//	plan := optim.Warmup{Steps: 100, Then: optim.Cosine{From: 1e-3, Steps: 10000}}
//	for step := range 10000 {
//		grads, err := loss(batch).Backward()
//		…
//		opt.SetLR(plan.At(step))
//		norm, err := opt.StepClipped(grads, 1) // or opt.Step(grads)
//	}
//
// # The model
//
// An [Optimizer] has variables, in groups that differ in learning rate and weight decay: see
// [Group]. Its configuration is a struct of numbers, such as [AdamW]. In all of these 0 stands for
// the number that PyTorch begins with, and a number below 0 for 0; but a weight decay of 0 is
// none.
//
// [Optimizer.Step] updates every variable that has a gradient and leaves the others alone. It waits
// for nothing. What is wrong is reported before anything is changed. Updates are changes in place,
// as by [tensor.Var.Set]: a gradient that needs the old numbers afterwards is an error of kind
// [tensor.ErrChanged].
//
// # Element types
//
// Updates are computed in float32, those of F64 variables in float64. A variable of 16 bits has a
// master copy in float32, which is updated, and is itself the copy rounded; [Group.NoMaster] goes
// without. A gradient has the type of its variable or the one that is computed in. With F16
// gradients, [LossScaler] keeps small ones from becoming 0.
//
// # Coming from PyTorch
//
//	torch.optim.SGD, Adam, AdamW              [NewSGD], [NewAdam], [NewAdamW]
//	RMSprop, Adagrad, Adafactor, Muon         [NewRMSprop], [NewAdagrad], [NewAdafactor], [NewMuon]
//	param_groups                              [Group]
//	clip_grad_norm_, clip_grad_value_         [ClipNorm], [ClipValue], [Optimizer.StepClipped]
//	lr_scheduler                              [Schedule], and [Plateau]
//	swa_utils.AveragedModel                   [Average]
//	amp.GradScaler                            [LossScaler]
//	fused, foreach                            what [Optimizer.Step] does
//	capturable                                [Optimizer.Advance]
//	state_dict, load_state_dict               [Optimizer.State], [Optimizer.Load]
//
// An optimiser is told its gradients, and keeps none: there is no zero_grad.
//
// # Launches and graphs
//
// Variables of at most 65536 elements are updated together, up to 16 by one launch; a master copy and
// the states of each are views of memory that they share. What an update needs of the step, such as
// learning rates and bias corrections, is on the device, so that a step can be captured:
// see [Optimizer.Advance].
//
// # State
//
// [Optimizer.State] is all that an optimiser has to be saved for, as tensors by stable names, and
// [Optimizer.Load] has another one go on with the same bits.
package optim
