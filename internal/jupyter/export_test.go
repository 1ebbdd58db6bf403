package jupyter

import "time"

// NudgeEvery replaces how long a restarted kernel has to answer.
func (k *Kernel) NudgeEvery(d time.Duration) { k.every = d }
