function _kafka_groups_completion
    set -l words (commandline -opc)
    set -l program (string replace -r '^~/' ~/ -- $words[1])
    set -l word (commandline -ct)
    set -l plain
    # A quote may be open.
    for quote in '' '"' "'"
        set plain (string unescape -- "$word$quote"); and break
    end
    set -l values (_KAFKA_GROUPS_COMPLETE=fish_complete $program $words "$plain" 2>/dev/null | string split0)
    switch "$values[1]"
        case dir file
            # An empty command has no completions of its own, so that fish offers files.
            set -l option (string match -r -- '^--[^=]*=' $word)
            set -l paths (complete -C "'' "(string replace -r -- '^--[^=]*=' '' $word))
            test $values[1] = dir; and set paths (string match -- '*/' $paths)
            printf "$option%s\n" $paths
        case '?*'
            printf '%s\0' $values[2..-2] | string split0
    end
end

complete --no-files --command kafka-groups --arguments "(_kafka_groups_completion)"
