<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="en_US" sourcelanguage="en_US">
<context>
    <name>hokku::desktop::ContextNotes</name>
    <message numerus="yes">
        <source>%1 and %n more</source>
        <translation>
            <numerusform>%1 and %n more</numerusform>
            <numerusform>%1 and %n more</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>hokku::desktop::EngineText</name>
    <message numerus="yes">
        <source>%n threads</source>
        <comment>of a processor</comment>
        <translation>
            <numerusform>%n thread</numerusform>
            <numerusform>%n threads</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>hokku::desktop::ModelsPage</name>
    <message numerus="yes">
        <source>, %n seconds left</source>
        <translation>
            <numerusform>, %n second left</numerusform>
            <numerusform>, %n seconds left</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>hokku::desktop::ReplyDetails</name>
    <message numerus="yes">
        <source>%Ln tokens</source>
        <translation>
            <numerusform>%Ln token</numerusform>
            <numerusform>%Ln tokens</numerusform>
        </translation>
    </message>
</context>
</TS>
