package irconf

func programCases() []Case { return nil }
