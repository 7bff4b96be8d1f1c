"""Users, certificates, keys of tokens and rights of a sandbox that was started with `--secure`.

`listeners` has the settings of the brokers and `certificates` and `token_keys` make the keys, all without side effects.
`secret_files` writes the files, `rights` creates users and ACLs in the cluster, `ways_in` has the profiles.
"""
