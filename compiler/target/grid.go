package target

// GridBarriers returns nil if all blocks of a launch can wait for each other on t, and else why not.
func (t Target) GridBarriers() error {
	lack := func(why string) error {
		return &Unsupported{What: "a barrier of the grid", Target: t, Why: why + "; use a launch for each step"}
	}
	switch t.Kind {
	case Interp, Native, PTX:
		return nil
	case MSL:
		return lack("Metal does not run all threadgroups of a launch at the same time")
	case OpenCL:
		return lack("OpenCL does not run all work-groups of a launch at the same time")
	}
	return lack("only CPUs and NVIDIA GPUs, by PTX, have it so far")
}
