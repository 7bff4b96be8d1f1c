"""Why a group is behind: causes that are tested on evidence, and what they find. Everything here is pure.

`evidence` is what was observed of a group, `finding` what a cause says about it, and each module of `catalogue` is one
cause. `diagnosis.explain` tests them all, in their order.
"""
